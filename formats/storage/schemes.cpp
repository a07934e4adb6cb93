#include "bale/formats/storage/schemes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/formats/storage/url_file.hpp"
#include "bale/formats/storage/version_catalog.hpp"

namespace bale {
namespace {

/// What one process knows of remote files and has open.
///
/// Threads: any number may call. Processes: a child of fork() has an object of its own.
/// Errors: those of RemoteFile and Storage (bale/formats/base/storage.hpp).
class ProcessFiles {
 public:
  /// It is not destroyed: threads may use it until the end.
  static ProcessFiles& of_process();
  ProcessFiles();

  std::shared_ptr<const UrlFile> open(const std::shared_ptr<const RemoteUrl>& location);
  bool exists(const std::shared_ptr<const RemoteUrl>& location);

  // As ContentCache says.
  std::uint64_t cache_bytes() const;
  std::uint64_t free_cache_bytes() const;
  std::uint64_t max_bytes_ahead() const;
  std::optional<File> local_copy(const std::shared_ptr<const RemoteUrl>& location);
  std::optional<std::vector<std::byte>> kept(const std::shared_ptr<const RemoteUrl>& location, std::string_view kind);
  void keep(const std::shared_ptr<const RemoteUrl>& location, std::string_view kind, Bytes content);
  void forget(const std::shared_ptr<const RemoteUrl>& location);
  void refresh(const RemoteUrl& location);

 private:
  static constexpr std::size_t k_least_known = 1024;

  std::string path_of_kept(const std::shared_ptr<const RemoteUrl>& location, std::string_view kind);
  std::shared_ptr<const UrlFile> open(const std::shared_ptr<const RemoteUrl>& location,
                                      const VersionCatalog::Answer& answer);
  std::shared_ptr<CachedFile> cached(const std::string& identity, const FileVersion& version) const;

  std::shared_ptr<CacheDirectory> cache_;  // null: there is none
  std::unique_ptr<VersionCatalog> catalog_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const UrlFile>> open_;  // and some that were closed
  std::size_t forget_closed_at_ = k_least_known;
};

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
    if (is_full_disk(error.context().system_error)) cache_->set_full(error);
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

ProcessFiles& files() { return ProcessFiles::of_process(); }

/// The remote files of one scheme, for all that opens files by name.
class UrlStorage final : public Storage {
 public:
  /// The location of a name. Throws `invalid_argument` if it is malformed.
  using Locate = std::function<std::shared_ptr<const RemoteUrl>(const std::string& name)>;
  explicit UrlStorage(Locate locate) : locate_(std::move(locate)), cache_(locate_) {}

  std::shared_ptr<const RemoteFile> open(const std::string& name) const override { return files().open(locate_(name)); }
  bool exists(const std::string& name) const override { return files().exists(locate_(name)); }
  void check(const std::string& name) const override { locate_(name); }
  std::string join(const std::string& directory, std::string_view file) const override {
    return locate_(directory)->join(file);
  }
  std::vector<std::string> list(const std::string& directory) const override { return locate_(directory)->list(); }
  const ContentCache& cache() const override { return cache_; }

 private:
  class Cache final : public ContentCache {
   public:
    explicit Cache(const Locate& locate) : locate_(locate) {}
    std::uint64_t bytes() const override { return files().cache_bytes(); }
    std::uint64_t free_bytes() const override { return files().free_cache_bytes(); }
    std::uint64_t max_bytes_ahead() const override { return files().max_bytes_ahead(); }
    std::optional<File> local_copy(const std::string& name) const override { return files().local_copy(locate_(name)); }
    std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) const override {
      return files().kept(locate_(name), kind);
    }
    void keep(const std::string& name, std::string_view kind, Bytes content) const override {
      files().keep(locate_(name), kind, content);
    }
    void forget(const std::string& name) const override { files().forget(locate_(name)); }
    void refresh(const std::string& name) const override { files().refresh(*locate_(name)); }

   private:
    const Locate& locate_;
  };

  const Locate locate_;
  const Cache cache_;
};

constexpr const char* k_gcloud =
    "read it as s3://BUCKET/KEY with AWS_ENDPOINT_URL=https://storage.googleapis.com and HMAC keys, or download it, "
    "with `gcloud storage cp -r`, or mount the bucket with gcsfuse, and name the local path";

void add(Scheme scheme, UrlStorage::Locate locate) {
  auto storage = std::make_unique<UrlStorage>(std::move(locate));
  scheme.storage = storage.get();
  add_scheme(std::move(scheme));
  static_cast<void>(storage.release());  // the table has it for as long as the process runs
}

void add_source(UrlScheme scheme, const char* advice) {
  const auto shared = std::make_shared<const UrlScheme>(std::move(scheme));
  add({.name = shared->name, .can_list = shared->list != nullptr, .advice = advice},
      [shared](const std::string& name) { return locate_source(name, shared); });
}

}  // namespace

void require_cache_unused() {
  if (!g_is_used) return;
  throw Error(ErrorCode::invalid_argument, "this process has opened a remote file, so its cache is settled",
              {.hint = "set the cache first"});
}

// The programs that fetch files are those that each service's own documentation names.
void add_schemes() {
#ifdef BALE_HAS_REMOTE
  constexpr const char* k_curl = "download it first, with `curl -O URL` or `wget URL`, and name the local path";
  add({.name = "http", .has_query = true, .advice = k_curl}, locate_http);
  add({.name = "https", .has_query = true, .advice = k_curl}, locate_http);
  add({.name = "s3",
       .can_list = true,
       .destination = "s3://BUCKET/PREFIX",
       .advice = "download it first, with `aws s3 sync`, or mount the bucket with mount-s3, and name the local path"},
      locate_s3);
  add({.name = "hf",
       .can_list = true,
       .advice = "download it first, with `hf download --repo-type dataset`, and name the local path"},
      locate_on_hub);
#else
  for (const char* name : {"http", "https", "s3", "hf"})
    add_scheme(
        {.name = name, .advice = "build bale with -DBALE_REMOTE=ON, or download it first, and name the local path"});
#endif
  add_source(file_scheme(), "leave out file://");
  for (const char* name : {"gs", "gcs"}) add_scheme({.name = name, .advice = k_gcloud});
  for (const char* name : {"az", "abfs", "hdfs", "ftp", "ssh", "sftp"}) add_scheme({.name = name});
}

void add_url_scheme(UrlScheme scheme) {
  if (scheme.name.size() < 2 || !is_scheme_name(scheme.name) || !scheme.open) {
    throw Error(ErrorCode::invalid_argument, "a scheme needs a name in lower case and a function that opens files");
  }
  add_source(std::move(scheme), "");
}

}  // namespace bale
