// UrlStorage: the remote files of one scheme, for all that opens files by name (bale/formats/base/storage.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {

class UrlStorage final : public Storage {
 public:
  /// The location of a name. Throws `invalid_argument` if it is malformed.
  using Locate = std::function<std::shared_ptr<const RemoteUrl>(const std::string& name)>;
  explicit UrlStorage(Locate locate) : locate_(std::move(locate)), cache_(locate_) {}

  std::shared_ptr<const RemoteFile> open(const std::string& name) const override;
  bool exists(const std::string& name) const override;
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
    std::uint64_t bytes() const override;
    std::uint64_t free_bytes() const override;
    std::uint64_t max_bytes_ahead() const override;
    std::optional<File> local_copy(const std::string& name) const override;
    std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) const override;
    void keep(const std::string& name, std::string_view kind, Bytes content) const override;
    void forget(const std::string& name) const override;
    void refresh(const std::string& name) const override;

   private:
    const Locate& locate_;
  };

  const Locate locate_;
  const Cache cache_;
};

}  // namespace bale
