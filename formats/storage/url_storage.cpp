#include "bale/formats/storage/url_storage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/system/per_process.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/http/file_transport.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/formats/storage/url_file.hpp"
#include "bale/formats/storage/version_catalog.hpp"

namespace bale {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{8} << 20;
constexpr const char* k_without_cache =
    "; remote files are read without a cache, and fetched again whenever they are read";
constexpr std::size_t k_least_known = 1024;
constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 60;
/// What may be fetched and not read yet is this part of the cache, for all readers of an order together. By simulation
/// (full shuffles, farthest next use, caches of a quarter to three quarters of the dataset), up to a quarter costs no
/// further misses: enough of what was read is not needed before it is evicted in any case.
constexpr std::uint64_t k_part_ahead = 16;

ForkMutex g_warning_mutex;
std::function<void(const std::string&)> g_warning_handler;  // guarded by it, as what follows
bool g_is_warned = false;
std::atomic<bool> g_is_used{false};

/// What one process knows and has open.
class Node {
 public:
  Node() {
    const CacheSettings settings = cache_settings();
    if (!settings.directory.empty()) {
      try {
        cache_ = std::make_shared<CacheDirectory>(settings);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument) throw;
        warn_of_cache(error.what() + std::string(k_without_cache));
      }
    }
    catalog_ = std::make_unique<VersionCatalog>(cache_);
  }

  std::shared_ptr<const UrlFile> open(const std::string& name) {
    const std::shared_ptr<const RemoteUrl> location = locate(name);
    return open(location, catalog_->look_up(*location));
  }

  /// What was read to see that it exists is kept in the cache: it is read next.
  bool exists(const std::string& name) {
    const std::shared_ptr<const RemoteUrl> location = locate(name);
    const std::optional<VersionCatalog::Answer> answer = catalog_->find(*location);
    if (answer) open(location, *answer);
    return answer.has_value();
  }

  std::optional<File> local_copy(const std::string& name) {
    const std::shared_ptr<const UrlFile> file = open(name);
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

  std::uint64_t max_bytes_ahead() const { return cache_ ? cache_->limit_bytes() / k_part_ahead : k_no_limit; }

  std::uint64_t cache_bytes() const { return cache_ ? cache_->limit_bytes() : 0; }

  std::uint64_t free_cache_bytes() const { return cache_ ? cache_->free_bytes() : 0; }

  std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) {
    if (!cache_) return std::nullopt;
    const std::string path = path_of_kept(name, kind);
    if (!is_there(path)) return std::nullopt;
    try {
      return read_file(path);
    } catch (const Error&) {  // it was removed in the meantime
      return std::nullopt;
    }
  }

  void keep(const std::string& name, std::string_view kind, Bytes content) {
    if (!cache_) return;
    const std::uint64_t bytes = units_of(0, content.size()).size() * k_unit_bytes;
    if (!cache_->reserve(bytes)) return;
    const std::string path = path_of_kept(name, kind);
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

  void forget(const std::string& name) {
    const std::shared_ptr<const UrlFile> file = open(name);
    file->forget(0, file->size());
  }

  void ask_again(const std::string& name) { catalog_->ask_again(*locate(name)); }

 private:
  std::string path_of_kept(const std::string& name, std::string_view kind) {
    const std::shared_ptr<const RemoteUrl> location = locate(name);
    const VersionCatalog::Answer answer = catalog_->look_up(*location);
    if (!answer.head.empty() || answer.body) open(location, answer);  // what came with it is read next
    return cache_->path_of(fmt::format("{}\n{}", VersionCatalog::content_identity(*location, answer.version), kind),
                           ".kept");
  }

  /// Whether the file is there. Its time of change is that of its last use: see eviction.cpp.
  static bool is_there(const std::string& path) { return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0; }

  std::shared_ptr<const UrlFile> open(const std::shared_ptr<const RemoteUrl>& location,
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

  std::shared_ptr<CachedFile> cached(const std::string& identity, const FileVersion& version) {
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

  std::shared_ptr<CacheDirectory> cache_;
  std::unique_ptr<VersionCatalog> catalog_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const UrlFile>> open_;  // and some that were closed
  std::size_t forget_closed_at_ = k_least_known;
};

/// The node's view of this process. It is not destroyed: threads may use it until the end.
Node& node() {
  static constinit PerProcess<Node> nodes;
  return nodes.get([] {
    auto made = std::make_unique<Node>();
    g_is_used = true;
    return made;
  });
}

class UrlStorage final : public Storage {
 public:
  bool serves(std::string_view name) const override { return is_served(name); }
  std::shared_ptr<const RemoteFile> open(const std::string& name) const override { return node().open(name); }
  std::optional<File> local_copy(const std::string& name) const override { return node().local_copy(name); }
  std::uint64_t max_bytes_ahead() const override { return node().max_bytes_ahead(); }
  std::uint64_t cache_bytes() const override { return node().cache_bytes(); }
  std::uint64_t free_cache_bytes() const override { return node().free_cache_bytes(); }
  std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) const override {
    return node().kept(name, kind);
  }
  void keep(const std::string& name, std::string_view kind, Bytes content) const override {
    node().keep(name, kind, content);
  }
  void forget(const std::string& name) const override { node().forget(name); }
  void ask_again(const std::string& name) const override { node().ask_again(name); }
  bool exists(const std::string& name) const override { return node().exists(name); }
  void check(const std::string& name) const override { locate(name); }
  std::string join(const std::string& directory, std::string_view file) const override {
    return locate(directory)->join(file);
  }
  std::vector<std::string> list(const std::string& directory) const override { return locate(directory)->list(); }
};

}  // namespace

void set_cache_warning_handler(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(g_warning_mutex);
  g_warning_handler = std::move(handler);
}

void warn_of_cache(const std::string& what) {
  std::function<void(const std::string&)> handler;
  {
    const std::lock_guard lock(g_warning_mutex);
    if (!std::exchange(g_is_warned, true)) handler = g_warning_handler;
  }
  if (handler) handler(what);
}

void require_apart_from_cache(const std::string& place) {
  if (is_file_url(place)) return require_apart_from_cache(path_of_file_url(place));
  if (is_served(place) || !is_cache_named()) return;
  const CacheSettings settings = cache_settings();
  if (settings.directory.empty()) return;
  // Only what bale makes below the named directory is the cache: a dataset may lie next to it.
  if (!do_overlap(join_path(settings.directory, k_cache_name), place)) return;
  throw Error(ErrorCode::invalid_argument, "the cache of remote files may not lie in what is read or written",
              {.path = place, .hint = "name another directory in BALE_CACHE_DIR"});
}

void check_cache_settings() { CacheDirectory::check_limit(cache_settings()); }

void require_cache_unused() {
  if (!g_is_used) return;
  throw Error(ErrorCode::invalid_argument, "this process has opened a remote file, so its cache is settled",
              {.hint = "set the cache first"});
}

void use_url_storage() {
  static const UrlStorage storage;
  set_remote_storage(&storage);
}

}  // namespace bale
