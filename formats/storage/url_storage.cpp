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
constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 60;
constexpr std::uint64_t k_part_ahead = 32;  // of the cache may be what is not read yet, for each reader

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
    // Its time of change is that of its last use: see eviction.cpp.
    if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) return path;
    if (!cache_->reserve(file->size())) return std::nullopt;
    const std::string name_of_copy = join_path(parent_directory(path), temporary_name());
    try {
      File copy = File::create(name_of_copy);
      std::vector<std::byte> buffer(std::min<std::uint64_t>(k_copy_bytes, file->size()));
      for (std::uint64_t at = 0; at < file->size();) {
        file->will_need(at, 4 * k_copy_bytes);
        const std::size_t got = file->read_some(at, buffer);
        copy.write_at(at, Bytes(buffer).first(got));
        at += got;
      }
      copy.close();
      if (::rename(name_of_copy.c_str(), path.c_str()) != 0) throw_errno("rename", name_of_copy);
    } catch (const Error& error) {
      ::unlink(name_of_copy.c_str());
      cache_->give_back(file->size());
      if (error.context().path != name_of_copy) throw;
      cache_->set_full();
      return std::nullopt;
    }
    file->forget(0, file->size());  // once is enough
    return path;
  }

  std::uint64_t max_bytes_ahead() const { return cache_ ? cache_->limit_bytes() / k_part_ahead : k_no_limit; }

  void forget(const std::string& name) {
    const std::shared_ptr<const UrlFile> file = open(name);
    file->forget(0, file->size());
    if (!cache_) return;
    const std::string path = cache_->path_of(identity_of(*locate(name), file->version()), ".whole");
    if (::unlink(path.c_str()) == 0) cache_->give_back(file->size());
  }

 private:
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
  std::uint64_t max_bytes_ahead() const override { return node().max_bytes_ahead(); }
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
