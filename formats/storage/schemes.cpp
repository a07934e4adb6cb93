#include "bale/formats/storage/schemes.hpp"

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/scheme.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/url_storage.hpp"

namespace bale {
namespace {

constexpr const char* k_curl = "download it first, with `curl -O URL` or `wget URL`, and name the local path";
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
