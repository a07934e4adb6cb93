#include "bale/formats/base/names/url_rules.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

struct KnownScheme {
  std::string_view name;
  std::string_view fetch;  // how to fetch its files; empty: no specific program
};

// The programs that each service's own documentation names.
constexpr std::array k_known_schemes{
    KnownScheme{"s3", "with `aws s3 sync`, or mount the bucket with mount-s3"},
    KnownScheme{"gs", "with `gcloud storage cp -r`, or mount the bucket with gcsfuse"},
    KnownScheme{"gcs", "with `gcloud storage cp -r`, or mount the bucket with gcsfuse"},
    KnownScheme{"hf", "with `hf download --repo-type dataset`"},
    KnownScheme{"http", "with `curl -O URL` or `wget URL`"},
    KnownScheme{"https", "with `curl -O URL` or `wget URL`"},
    KnownScheme{"az", ""},
    KnownScheme{"abfs", ""},
    KnownScheme{"hdfs", ""},
    KnownScheme{"ftp", ""},
    KnownScheme{"ssh", ""},
    KnownScheme{"sftp", ""},
};

const KnownScheme* find_scheme(std::string_view name) {
  const auto* const found = std::find_if(k_known_schemes.begin(), k_known_schemes.end(),
                                         [&](const KnownScheme& known) { return known.name == name; });
  return found == k_known_schemes.end() ? nullptr : found;
}

/// "s3" of "s3://bucket", and of "s3:/bucket", which pathlib makes of it; empty if the name is not a URL.
std::string scheme_of(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string scheme = lower_case(name.substr(0, colon));
  const auto is_in_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  if (scheme.empty() || !std::all_of(scheme.begin(), scheme.end(), is_in_scheme)) return {};
  const std::string_view rest = name.substr(colon);
  if (rest.starts_with("://")) return scheme;
  return rest.starts_with(":/") && find_scheme(scheme) != nullptr ? scheme : std::string();
}

std::string hint_for(std::string_view name, const std::string& scheme, UrlUse use) {
  const std::string with_slashes = scheme + "://";
  if (use == UrlUse::dataset && !name.starts_with(with_slashes) && remote_storage_of(with_slashes + "x/y/z")) {
    return fmt::format("write {}: a path object drops one of the slashes", with_slashes);
  }
  if (use == UrlUse::packing) {
    if (scheme == "s3") return "write s3://BUCKET/PREFIX: a path object drops one of the slashes";
    return "write to a local directory or to s3://BUCKET/PREFIX, and copy it from there";
  }
  if (use == UrlUse::writing) return "write to a local directory, and copy it from there";
  if (scheme == "file") return "leave out file://";
  const KnownScheme* const known = find_scheme(scheme);
  if (known == nullptr || known->fetch.empty()) return "download it first, or mount it, and name the local path";
  if (scheme == "gs" || scheme == "gcs") {
    return fmt::format(
        "read it as s3://BUCKET/KEY with AWS_ENDPOINT_URL=https://storage.googleapis.com and HMAC keys, or "
        "download it, {}",
        known->fetch);
  }
  return fmt::format("download it first, {}, and name the local path", known->fetch);
}

}  // namespace

std::size_t end_of_first_name(std::string_view list) {
  const std::size_t end = list.find("::");
  const std::size_t scheme = list.find("://");
  if (end == std::string_view::npos || scheme > end) return end;
  const std::size_t host = scheme + 3;
  const std::size_t path = std::min(list.find_first_of("/?#", host), list.size());
  const std::size_t open = std::min(list.find('[', host), path);
  const std::size_t close = std::min(list.find(']', open), path);
  return open < path && close < path ? list.find("::", close) : end;
}

void require_local_name(std::string_view name, UrlUse use) {
  const bool is_command = name.starts_with("pipe:");
  const std::string scheme = scheme_of(name);
  if (!is_command && scheme.empty()) return;
  const Storage* const storage = remote_storage_of(name);
  const bool is_s3 = use == UrlUse::packing && name.starts_with("s3://");
  if (storage != nullptr && (use == UrlUse::dataset || is_s3)) return storage->check(std::string(name));
  if (storage == nullptr && path_exists(std::string(name))) return;
  const bool writes = use == UrlUse::writing || use == UrlUse::packing;
  const std::string hint = is_command && !writes ? "run the command with its output to a file, and name that file"
                                                 : hint_for(name, scheme, use);
  const std::string_view what = use == UrlUse::packing ? "bale writes local files and s3://"
                                : writes               ? "bale writes local files"
                                                       : "bale reads local files";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}", what, shown_name(name), is_command ? "a command" : "a URL"), {.hint = hint});
}

}  // namespace bale
