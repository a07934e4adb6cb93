#include "bale/formats/shard/seek_point_file.hpp"

#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/checked_header.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

constexpr char k_magic[8] = {'B', 'A', 'L', 'E', 'E', 'N', 'T', '\0'};
constexpr std::uint32_t k_version = 1;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t num_samples;
  std::uint64_t shard_bytes;
  std::uint64_t record_bytes;
  std::uint64_t file_bytes;
  std::uint32_t ends_crc32c;
  std::uint32_t records_crc32c;
  std::uint32_t reserved_too;
  std::uint32_t header_crc32c;  // of all bytes before it
};
static_assert(sizeof(Header) == 64);

[[noreturn]] void fail_damaged_seek_points(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged seek points: {}", why),
              {.path = path, .hint = "delete them, or make them again with `bale index --seek-points`"});
}

}  // namespace

std::string seek_point_path(const std::string& shard_path) { return with_suffix(shard_path, ".bseek"); }

std::string old_seek_point_path(const std::string& shard_path) { return with_suffix(shard_path, ".bentry"); }

std::string find_seek_points(const std::string& shard_path) {
  const std::string path = seek_point_path(shard_path);
  const std::string old_path = old_seek_point_path(shard_path);
  const bool is_old = !path_exists(path) && path_exists(old_path);
  return is_old ? old_path : path;
}

SeekPointFile SeekPointFile::load(const std::string& path) {
  const auto load_once = [&] {
    SeekPointFile file;
    file.content_ = FileBytes::load(path);
    file.content_.will_need();
    file.parse(path);
    return file;
  };
  SeekPointFile file = read_twice_if_damaged(path, load_once);
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr || file.records_are_whole()) return file;
  storage->forget(path);  // perhaps they were damaged on their way
  return load_once();
}

SeekPointFile SeekPointFile::from_bytes(std::vector<std::byte> bytes, const std::string& path) {
  SeekPointFile file;
  file.content_ = FileBytes(std::move(bytes));
  file.parse(path);
  return file;
}

void SeekPointFile::parse(const std::string& path) {
  const Bytes content = content_.get();
  const auto header = load_checked_header<Header>(content, k_magic, k_version, "seek points of", path,
                                                  [&](std::string_view why) { fail_damaged_seek_points(path, why); });
  const std::uint64_t body_bytes = content.size() - sizeof(Header);
  const std::uint64_t ends_bytes = header.num_samples * sizeof(std::uint64_t);
  if (header.file_bytes != content.size() || header.num_samples > body_bytes / sizeof(std::uint64_t) ||
      header.record_bytes != body_bytes - ends_bytes) {
    fail_damaged_seek_points(path, "its size contradicts its header");
  }
  if (crc32c(content.subspan(sizeof(Header), ends_bytes)) != header.ends_crc32c) {
    fail_damaged_seek_points(path, "checksum of the table does not match");
  }
  num_samples_ = header.num_samples;
  shard_bytes_ = header.shard_bytes;
  ends_ = content.data() + sizeof(Header);
  records_ = content.subspan(sizeof(Header) + ends_bytes);
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < num_samples_; ++i) {
    const auto end = load_at<std::uint64_t>(ends_ + i * sizeof(std::uint64_t));
    if (end < previous || end > records_.size()) fail_damaged_seek_points(path, "table out of order");
    previous = end;
  }
}

Bytes SeekPointFile::record(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : load_at<std::uint64_t>(ends_ + (i - 1) * sizeof(std::uint64_t));
  return records_.subspan(begin, load_at<std::uint64_t>(ends_ + i * sizeof(std::uint64_t)) - begin);
}

bool SeekPointFile::records_are_whole() const {
  return crc32c(records_) == load_at<Header>(content_.get().data()).records_crc32c;
}

void SeekPointFileBuilder::add(Bytes record) {
  records_.insert(records_.end(), record.begin(), record.end());
  ends_.push_back(records_.size());
}

std::vector<std::byte> SeekPointFileBuilder::build(std::uint64_t shard_bytes) const {
  const Bytes ends = std::as_bytes(std::span(ends_));
  Header header{};
  std::memcpy(header.magic, k_magic, sizeof k_magic);
  header.version = k_version;
  header.num_samples = ends_.size();
  header.shard_bytes = shard_bytes;
  header.record_bytes = records_.size();
  header.file_bytes = sizeof header + ends.size() + records_.size();
  header.ends_crc32c = crc32c(ends);
  header.records_crc32c = crc32c(records_);
  seal_header(header);
  const Bytes head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> out;
  out.reserve(header.file_bytes);
  for (const Bytes part : {head, ends, Bytes(records_)}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace bale
