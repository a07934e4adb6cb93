#include "bale/formats/shard/current_index.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {
namespace {

bool is_newer(const FileStamp& a, const FileStamp& b) {
  return std::tie(a.seconds, a.nanoseconds) > std::tie(b.seconds, b.nanoseconds);
}

ForkMutex known_mutex;
std::set<FileStamp> known_files;  // guarded by it: those that this process has found to match their index

bool is_known(const FileStamp& file) {
  const std::lock_guard lock(known_mutex);
  return known_files.contains(file);
}

void make_known(const FileStamp& file) {
  const std::lock_guard lock(known_mutex);
  known_files.insert(file);
}

/// Best effort: on a read-only file system the next process compares the digest again.
bool renew_time(const std::string& path) { return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0; }

bool is_same_place(const Extent& a, const Extent& b) { return a.offset == b.offset && a.length == b.length; }

/// Some formats' scans name a field by its first bytes, which may be the damaged ones.
bool has_place(const ExtentRow& row, const Extent& wanted) {
  for (const auto& [field, extent] : row) {
    if (is_same_place(extent, wanted)) return true;
  }
  return false;
}

/// Whether the container's headers agree with the index: the same keys and labels, at the same places.
bool agrees_with_scan(const std::string& path, const Format& format, const ShardIndex& index) {
  const ShardIndex scanned = scan_shard(path, format);
  const bool keys_in_file = keeps_keys_in_file(format);
  if (scanned.size() != index.size()) return false;
  std::map<std::string, std::uint32_t> ids;
  for (std::uint32_t f = 0; f < scanned.fields().size(); ++f) ids.emplace(scanned.fields()[f].stored_name(), f);
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    if (keys_in_file && scanned.key(i) != index.key(i)) return false;
    if (scanned.label(i) != k_no_label && scanned.label(i) != index.label(i)) return false;
    for (const auto& [f, extent] : index.row(i)) {
      if (!index.fields()[f].located) continue;
      const auto twin = ids.find(index.fields()[f].stored_name());
      const Extent found = twin == ids.end() ? Extent{} : scanned.extent(i, twin->second);
      if (!is_same_place(found, extent) && !has_place(scanned.row(i), extent)) return false;
    }
  }
  return true;
}

[[noreturn]] void fail_stale(const std::string& path) {
  throw Error(
      ErrorCode::changed, "the index is stale: the file was changed after its index was made",
      {.path = path, .hint = "if the change was wanted, renew the index with `bale index`; else copy the file again"});
}

/// The file is not byte for byte the one that the index was made from. Reading finds damaged samples one by one, so
/// nothing is lost if the index is right about everything else.
void judge_changed_file(const std::string& path, const Format& format, const ShardIndex& index, bool newer,
                        NoticeLog& notices) {
  bool agrees = !newer;  // a library that may crash on damaged bytes is not called
  if (format.scan_survives_damage) {
    try {
      agrees = agrees_with_scan(path, format, index);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged && error.code() != ErrorCode::unsupported) throw;
      agrees = true;  // damaged headers, not other labels: a file that was rewritten can be scanned
    }
  }
  if (!agrees) fail_stale(path);
  notices.warn(
      "is not byte for byte the file that its index was made of, but keys and labels are the same; "
      "`bale verify` names what is damaged");
}

}  // namespace

NoticeLog check_index_is_current(const std::string& path, const Format& format, const ShardIndex& index) {
  NoticeLog notices;
  const std::string beside = index_path(path);
  const FileStamp file = FileStamp::of(path);
  const FileStamp index_file = FileStamp::of(beside);
  if (!file.is_known() || !index_file.is_known()) return notices;
  if (file.bytes != index.shard_bytes() || is_known(file)) return notices;
  const bool newer = is_newer(file, index_file);
  if (newer && index.digest()) {
    if (digest_file(path) != *index.digest()) {
      judge_changed_file(path, format, index, newer, notices);
    } else {
      notices.warn(renew_time(beside) ? "was newer than its index: all of it was read and is what the index was made of"
                                      : "is newer than its index, but its content matches; give the index a newer time "
                                        "with touch, or every process repeats this check");
    }
  } else if (index.ends_digest() && digest_file_ends(path) != *index.ends_digest()) {
    judge_changed_file(path, format, index, newer, notices);
  }
  make_known(file);
  return notices;
}

namespace {

/// Names what is kept. The number is to be raised when a scan of the same bytes gives another index.
constexpr std::string_view k_kind = "scan 2";

std::optional<ShardIndex> remembered(const Storage& storage, const std::string& path) {
  auto content = storage.cache().kept(path, k_kind);
  if (!content) return std::nullopt;
  try {
    return ShardIndex::from_bytes(std::move(*content), path);
  } catch (const Error&) {  // it was damaged in the cache
    return std::nullopt;
  }
}

}  // namespace

ShardIndex scan_or_remember(const std::string& path, const Format& format) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return scan_shard(path, format);
  if (auto index = remembered(*storage, path)) return *std::move(index);
  ShardIndex index = scan_shard(path, format);
  if (index.notices().empty()) storage->cache().keep(path, k_kind, index.bytes());
  return index;
}

bool needs_scan(const std::string& path) {
  const Storage* const storage = remote_storage_of(path);
  return storage != nullptr && !path_exists(index_path(path)) && !remembered(*storage, path);
}

}  // namespace bale
