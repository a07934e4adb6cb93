#include "bale/formats/storage/process_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/remote_cache.hpp"

namespace bale {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{8} << 20;
constexpr const char* k_without_cache =
    "; remote files are read without a cache, and fetched again whenever they are read";
constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 60;
/// What may be fetched and not read yet is this part of the cache, for all readers of an order together. By simulation
/// (full shuffles, farthest next use, caches of a quarter to three quarters of the dataset), up to a quarter costs no
/// further misses: enough of what was read is not needed before it is evicted in any case.
constexpr std::uint64_t k_part_ahead = 16;

std::atomic<bool> g_is_used{false};

/// Whether the file is there. Its time of change is that of its last use: see eviction.cpp.
bool is_kept_there(const std::string& path) { return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0; }

}  // namespace

ProcessFiles& ProcessFiles::of_process() {
  static constinit PerProcess<ProcessFiles> files;
  return files.get([] {
    auto made = std::make_unique<ProcessFiles>();
    g_is_used = true;
    return made;
  });
}

ProcessFiles::ProcessFiles() {
  const CacheSettings settings = cache_settings();
  if (!settings.directory.empty()) {
    try {
      cache_ = std::make_shared<CacheDirectory>(settings);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::invalid_argument) throw;
      warn_of_cache(error.what() + std::string(k_without_cache));
    }
  } else if (!is_cache_named()) {
    warn_of_cache("there is no HOME, and so no place for the cache; name one in BALE_CACHE_DIR" +
                  std::string(k_without_cache));
  }
  catalog_ = std::make_unique<VersionCatalog>(cache_);
}

std::shared_ptr<const UrlFile> ProcessFiles::open(const std::shared_ptr<const RemoteUrl>& location) {
  return open(location, catalog_->look_up(*location));
}

/// What was read to see that it exists is kept in the cache: it is read next.
bool ProcessFiles::exists(const std::shared_ptr<const RemoteUrl>& location) {
  const std::optional<VersionCatalog::Answer> answer = catalog_->find(*location);
  if (answer) open(location, *answer);
  return answer.has_value();
}

std::optional<File> ProcessFiles::local_copy(const std::shared_ptr<const RemoteUrl>& location) {
  const std::shared_ptr<const UrlFile> file = open(location);
  const std::shared_ptr<CachedFile>& cached = file->cached();
  if (!cached || file->size() > cache_->limit_bytes()) return std::nullopt;
  File pinned = cached->pin();  // first, so that what was compared stays
  std::vector<std::byte> buffer(std::min<std::uint64_t>(k_copy_bytes, file->size()));
  for (std::uint64_t at = 0; at < file->size();) {
    file->will_need(at, 4 * k_copy_bytes);
    at += file->read_some(at, buffer);
  }
  if (!cached->has(units_of(0, file->size()))) return std::nullopt;
  return pinned;
}

std::uint64_t ProcessFiles::cache_bytes() const { return cache_ ? cache_->limit_bytes() : 0; }
std::uint64_t ProcessFiles::free_cache_bytes() const { return cache_ ? cache_->free_bytes() : 0; }
std::uint64_t ProcessFiles::max_bytes_ahead() const {
  return cache_ ? cache_->limit_bytes() / k_part_ahead : k_no_limit;
}

std::optional<std::vector<std::byte>> ProcessFiles::kept(const std::shared_ptr<const RemoteUrl>& location,
                                                         std::string_view kind) {
  if (!cache_) return std::nullopt;
  const std::string path = path_of_kept(location, kind);
  if (!is_kept_there(path)) return std::nullopt;
  try {
    return read_file(path);
  } catch (const Error&) {  // it was removed in the meantime
    return std::nullopt;
  }
}

void ProcessFiles::keep(const std::shared_ptr<const RemoteUrl>& location, std::string_view kind, Bytes content) {
  if (!cache_) return;
  const std::uint64_t bytes = units_of(0, content.size()).size() * k_unit_bytes;
  if (!cache_->reserve(bytes)) return;
  const std::string path = path_of_kept(location, kind);
  const std::string temporary = join_path(parent_directory(path), temporary_name());
  try {
    File file = File::create(temporary);
    file.write_at(0, content);
    file.close();
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno("rename", temporary);
    cache_->stored(bytes);
  } catch (const Error& error) {
    ::unlink(temporary.c_str());
    cache_->give_back(bytes);
    if (is_full_disk(error)) cache_->set_full(error);
  }
}

void ProcessFiles::forget(const std::shared_ptr<const RemoteUrl>& location) {
  const std::shared_ptr<const UrlFile> file = open(location);
  file->forget(0, file->size());
}

void ProcessFiles::refresh(const RemoteUrl& location) { catalog_->refresh(location); }

std::string ProcessFiles::path_of_kept(const std::shared_ptr<const RemoteUrl>& location, std::string_view kind) {
  const VersionCatalog::Answer answer = catalog_->look_up(*location);
  if (!answer.head.empty() || answer.body) open(location, answer);  // what came with it is read next
  return cache_->path_of(fmt::format("{}\n{}", VersionCatalog::content_identity(*location, answer.version), kind),
                         ".kept");
}

std::shared_ptr<const UrlFile> ProcessFiles::open(const std::shared_ptr<const RemoteUrl>& location,
                                                  const VersionCatalog::Answer& answer) {
  const std::string identity = VersionCatalog::content_identity(*location, answer.version);
  const std::lock_guard lock(mutex_);
  if (open_.size() > forget_closed_at_) {
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    forget_closed_at_ = 2 * open_.size() + k_least_known;
  }
  std::weak_ptr<const UrlFile>& known = open_[identity];
  if (std::shared_ptr<const UrlFile> file = known.lock()) return file;
  auto file = std::make_shared<const UrlFile>(location, answer.version, cached(identity, answer.version), answer.head,
                                              answer.body.get());
  known = file;
  return file;
}

std::shared_ptr<CachedFile> ProcessFiles::cached(const std::string& identity, const FileVersion& version) const {
  if (!cache_ || version.size == 0) return nullptr;
  try {
    if (auto file = CachedFile::open(cache_, identity, version.size)) return file;
    warn_of_cache(fmt::format("{}: the cache has no room for the map of a file{}; give BALE_CACHE_LIMIT more",
                              printable(cache_->path()), k_without_cache));
  } catch (const Error& error) {
    warn_of_cache(error.what() + std::string(k_without_cache));
  }
  return nullptr;
}

void require_cache_unused() {
  if (!g_is_used) return;
  throw Error(ErrorCode::invalid_argument, "this process has opened a remote file, so its cache is settled",
              {.hint = "set the cache first"});
}

}  // namespace bale
