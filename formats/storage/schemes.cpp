#include "bale/formats/storage/schemes.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/process_files.hpp"

namespace bale {
namespace {

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
