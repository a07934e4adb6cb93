#include "bale/formats/storage/url_storage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/temporary_file.hpp"
#include "bale/formats/storage/catalog.hpp"
#include "bale/formats/storage/location.hpp"
#include "bale/formats/storage/url_file.hpp"

namespace bale {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{8} << 20;

std::string identity_of(const Location& location, const FileVersion& version) {
  return fmt::format("{}\n{}\n{}", location.identity(), version.etag, version.size);
}

/// What one process knows and has open.
class Node {
 public:
  Node() {
    const CacheSettings settings = cache_settings();
    if (!settings.directory.empty()) {
      try {
        cache_ = std::make_shared<CacheDirectory>(settings);
        if (cache_->slots().token() == 0) cache_ = nullptr;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument) throw;
        condition_ = error.what();
      }
    }
    catalog_ = std::make_unique<Catalog>(cache_);
  }

  std::shared_ptr<const UrlFile> open(const std::string& name) {
    const std::shared_ptr<const Location> location = locate(name);
    return open(location, catalog_->look_up(*location));
  }

  /// What was read to see that it exists is kept in the cache: it is read next.
  bool exists(const std::string& name) {
    const std::shared_ptr<const Location> location = locate(name);
    const std::optional<Catalog::Answer> answer = catalog_->find(*location);
    if (answer) open(location, *answer);
    return answer.has_value();
  }

  std::optional<std::string> local_copy(const std::string& name) {
    if (!cache_) return std::nullopt;
    const std::shared_ptr<const UrlFile> file = open(name);
    const std::string path = cache_->path_of(identity_of(*locate(name), file->version()), ".whole");
    if (is_there(path)) return path;
    const bool is_stored = store(path, file->size(), [&](File& copy) {
      std::vector<std::byte> buffer(std::min<std::uint64_t>(k_copy_bytes, file->size()));
      for (std::uint64_t at = 0; at < file->size();) {
        file->will_need(at, 4 * k_copy_bytes);
        const std::size_t got = file->read_some(at, buffer);
        copy.write_at(at, Bytes(buffer).first(got));
        at += got;
      }
    });
    if (!is_stored) return std::nullopt;
    file->forget(0, file->size());  // once is enough
    return path;
  }

  std::uint64_t cache_bytes() const { return cache_ ? cache_->limit_bytes() : 0; }

  std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) {
    if (!cache_) return std::nullopt;
    const std::string path = path_of_kept(name, kind);
    if (!is_there(path)) return std::nullopt;
    try {
      return read_file(path);
    } catch (const Error&) {  // it was removed meanwhile
      return std::nullopt;
    }
  }

  void keep(const std::string& name, std::string_view kind, Bytes content) {
    if (cache_) store(path_of_kept(name, kind), content.size(), [&](File& copy) { copy.write_at(0, content); });
  }

  void forget(const std::string& name) {
    const std::shared_ptr<const UrlFile> file = open(name);
    file->forget(0, file->size());
    if (!cache_) return;
    const std::string path = cache_->path_of(identity_of(*locate(name), file->version()), ".whole");
    if (::unlink(path.c_str()) == 0) cache_->give_back(file->size());
  }

 private:
  std::string path_of_kept(const std::string& name, std::string_view kind) {
    const std::shared_ptr<const UrlFile> file = open(name);
    return cache_->path_of(fmt::format("{}\n{}", identity_of(*locate(name), file->version()), kind), ".whole");
  }

  /// Sets the time of change of a file to the cache's clock, which says when it was used last: see eviction.cpp. Returns
  /// whether the file is there.
  bool is_there(const std::string& path) const {
    const struct timespec now {
      static_cast<time_t>(cache_->now()), 0
    };
    const struct timespec times[2] = {now, now};
    return ::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0;
  }

  /// Makes a whole file of the cache. Returns false if there is no room. Throws what `fill` throws about other files.
  template <typename Fill>
  bool store(const std::string& path, std::uint64_t bytes, Fill fill) {
    if (!cache_->reserve(bytes)) return false;
    const std::string temporary = join_path(parent_directory(path), temporary_name());
    try {
      File file = File::create(temporary);
      fill(file);
      file.close();
      is_there(temporary);
      if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno("rename", temporary);
      return true;
    } catch (const Error& error) {
      ::unlink(temporary.c_str());
      cache_->give_back(bytes);
      if (error.context().path != temporary) throw;
      cache_->set_full();
      return false;
    }
  }

  std::shared_ptr<const UrlFile> open(const std::shared_ptr<const Location>& location, const Catalog::Answer& answer) {
    const std::string identity = identity_of(*location, answer.version);
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const UrlFile>& known = open_[identity];
    if (std::shared_ptr<const UrlFile> file = known.lock()) return file;
    auto file = std::make_shared<const UrlFile>(location, answer.version, cached(identity, answer.version), answer.head);
    known = file;
    return file;
  }

  std::shared_ptr<CachedFile> cached(const std::string& identity, const FileVersion& version) {
    if (!cache_ || version.size == 0) return nullptr;
    try {
      return CachedFile::open(cache_, identity, version.size);
    } catch (const Error& error) {
      condition_ = error.what();
      return nullptr;
    }
  }

  std::shared_ptr<CacheDirectory> cache_;
  std::unique_ptr<Catalog> catalog_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const UrlFile>> open_;
  std::string condition_;  // why there is no cache
};

/// The node's view of this process. A child of fork() gets one of its own; its copy of the parent's is left alone.
Node& node() {
  static std::mutex mutex;
  static Node* current = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (owner != ::getpid()) {
    current = new Node();
    owner = ::getpid();
  }
  return *current;
}

class UrlStorage final : public Storage {
 public:
  bool serves(std::string_view name) const override { return is_served(name); }
  std::shared_ptr<const RemoteFile> open(const std::string& name) const override { return node().open(name); }
  std::optional<std::string> local_copy(const std::string& name) const override { return node().local_copy(name); }
  std::uint64_t cache_bytes() const override { return node().cache_bytes(); }
  std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) const override {
    return node().kept(name, kind);
  }
  void keep(const std::string& name, std::string_view kind, Bytes content) const override {
    node().keep(name, kind, content);
  }
  void forget(const std::string& name) const override { node().forget(name); }
  bool exists(const std::string& name) const override { return node().exists(name); }
  void check(const std::string& name) const override { locate(name); }
  std::string join(const std::string& directory, std::string_view file) const override {
    return locate(directory)->join(file);
  }
  std::vector<std::string> list(const std::string& directory) const override { return locate(directory)->list(); }
};

}  // namespace

void use_url_storage() {
  static const UrlStorage storage;
  set_remote_storage(&storage);
}

}  // namespace bale
