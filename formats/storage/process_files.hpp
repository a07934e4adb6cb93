// ProcessFiles: what one process knows of remote files and has open.
//
// Threads: any number may call. Processes: a child of fork() has an object of its own.
// Errors: those of RemoteFile and Storage (bale/formats/base/storage.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/url_file.hpp"
#include "bale/formats/storage/version_catalog.hpp"

namespace bale {

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

}  // namespace bale
