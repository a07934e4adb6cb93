#include "bale/formats/storage/aws/s3_location.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/storage/aws/credentials/profile.hpp"
#include "bale/formats/storage/aws/sigv4.hpp"

namespace bale {
namespace {

constexpr std::string_view k_scheme = "s3://";
constexpr std::size_t k_shown_setting = 200;
constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view k_digits = "0123456789";

Error bad_setting(std::string_view what, std::string_view value, std::string hint) {
  const std::size_t at = value.rfind('@');  // what comes before is a password
  const std::string shown = at == std::string_view::npos ? printable(value) : "***" + printable(value.substr(at));
  return Error(ErrorCode::invalid_argument, fmt::format("{} \"{}\"", what, excerpt(shown, k_shown_setting)),
               {.hint = std::move(hint)});
}

/// Whether `text` has only letters, digits and `others`.
bool consists_of(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return k_letters.find(c) != std::string_view::npos || k_digits.find(c) != std::string_view::npos ||
           others.find(c) != std::string_view::npos;
  });
}

/// Whether the name can be the first part of a host name that AWS's certificates cover.
bool fits_into_host(std::string_view bucket) {
  const bool has_capital = std::any_of(bucket.begin(), bucket.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return bucket.size() >= 3 && bucket.size() <= 63 && !has_capital &&
         bucket.find_first_of("._") == std::string_view::npos;
}

bool is_address(std::string_view host) {
  return host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string checked_endpoint(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_http = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const std::size_t host = std::min(endpoint.find("://"), endpoint.size());
  if (!is_http || endpoint.size() <= host + 3 || endpoint.find_first_of("?#@ ") != std::string::npos) {
    throw bad_setting("bad S3 endpoint", endpoint, "write https://HOST or http://HOST:PORT in AWS_ENDPOINT_URL_S3");
  }
  return endpoint;
}

S3Addressing parse_addressing(const std::string& text) {
  const std::string style = lower_case(text);
  if (style == "auto") return S3Addressing::automatic;
  if (style == "path") return S3Addressing::path;
  if (style == "virtual") return S3Addressing::virtual_host;
  throw bad_setting("bad S3 addressing style", text, "set AWS_S3_ADDRESSING_STYLE to path, virtual or auto");
}

std::string bucket_url(const S3Settings& settings, const std::string& bucket) {
  const bool is_custom = !settings.endpoint.empty();
  const std::string endpoint =
      is_custom ? settings.endpoint
                : fmt::format("https://s3.{}.{}", checked_region(settings.region), dns_suffix_of(settings.region));
  const UrlParts parts = split_url(endpoint);
  bool in_path = settings.addressing == S3Addressing::path || is_address(host_of(parts.authority));
  if (settings.addressing == S3Addressing::automatic && (is_custom || !fits_into_host(bucket))) in_path = true;
  if (in_path) return fmt::format("{}/{}", endpoint, bucket);
  return fmt::format("{}://{}.{}{}", parts.scheme, bucket, parts.authority, parts.path);
}

/// A range as the header has it: both ends are included.
std::string range_header(const FileRange& range) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (range.length == 0 || range.length - 1 > most - range.offset) {
    throw Error(ErrorCode::invalid_argument, fmt::format("cannot request {} bytes", range.length),
                {.offset = range.offset});
  }
  return fmt::format("bytes={}-{}", range.offset, range.offset + (range.length - 1));
}

void finish_request(HttpRequest& request, const S3Settings& settings, const std::optional<Credentials>& credentials,
                    UtcTime now) {
  request.follow_redirects = false;
  if (settings.requester_pays) request.headers.emplace_back("x-amz-request-payer", "requester");
  if (credentials) sign_request(request, *credentials, {.region = settings.region, .time = now}, k_empty_payload);
}

}  // namespace

S3Settings read_s3_settings(const AwsContext& context) {
  const Profile profile = load_profile(context);
  S3Settings settings;
  if (auto region = configured_region(context, profile)) settings.region = checked_region(*region);
  if (auto endpoint = configured_endpoint(context, profile, "s3")) settings.endpoint = checked_endpoint(*endpoint);
  auto style = context.setting("AWS_S3_ADDRESSING_STYLE");
  if (!style) style = profile.setting("s3.addressing_style");
  if (style) settings.addressing = parse_addressing(*style);
  if (const auto payer = context.setting("AWS_REQUEST_PAYER")) {
    if (lower_case(*payer) != "requester") {
      throw bad_setting("bad AWS_REQUEST_PAYER", *payer, "set it to requester, or not at all");
    }
    settings.requester_pays = true;
  }
  settings.certificates = configured_certificates(context, profile);
  return settings;
}

S3Location parse_s3_url(std::string_view url) {
  const std::string hint = "write s3://BUCKET/KEY";
  if (!url.starts_with(k_scheme)) throw bad_setting("not an S3 URL:", url, hint);
  const std::string_view rest = url.substr(k_scheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view bucket = rest.substr(0, slash);
  if (bucket.empty()) throw bad_setting("an S3 URL without a bucket:", url, hint);
  const std::string_view ends("-.");
  const bool has_bad_end =
      ends.find(bucket.front()) != std::string_view::npos || ends.find(bucket.back()) != std::string_view::npos;
  if (!consists_of(bucket, "-._") || has_bad_end || bucket.find("..") != std::string_view::npos ||
      bucket.size() > 255) {
    throw bad_setting("not a name of an S3 bucket:", bucket,
                      "a name has letters, digits, '-', '.' and '_' only; of an access point, use the alias");
  }
  return {.bucket = std::string(bucket), .key = std::string(rest.substr(std::min(slash + 1, rest.size())))};
}

std::string object_url(const S3Settings& settings, const S3Location& location) {
  return fmt::format("{}/{}", bucket_url(settings, location.bucket), percent_encode(location.key, true));
}

std::string list_objects_url(const S3Settings& settings, const std::string& bucket, const S3ListQuery& query) {
  std::string text;
  const auto add = [&](const char* name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? '?' : '&', name, percent_encode(value, false));
  };
  // Sorted by name: servers that compare unsorted queries exist.
  add("continuation-token", query.continuation_token);
  add("delimiter", query.delimiter);
  add("encoding-type", "url");
  add("list-type", "2");
  if (query.max_keys > 0) add("max-keys", fmt::format("{}", query.max_keys));
  add("prefix", query.prefix);
  const std::string url = bucket_url(settings, bucket);
  return url + (split_url(url).path.empty() ? "/" : "") + text;
}

HttpRequest get_object_request(const S3Settings& settings, const S3Location& location,
                               const std::optional<Credentials>& credentials, UtcTime now,
                               const S3GetOptions& options) {
  HttpRequest request{.url = object_url(settings, location), .certificates = settings.certificates};
  if (options.range) {
    request.headers.emplace_back("Range", range_header(*options.range));
    request.max_body_bytes = std::max(request.max_body_bytes, options.range->length);
  }
  if (!options.if_match.empty()) request.headers.emplace_back("If-Match", options.if_match);
  if (!options.if_none_match.empty()) request.headers.emplace_back("If-None-Match", options.if_none_match);
  finish_request(request, settings, credentials, now);
  return request;
}

HttpRequest list_objects_request(const S3Settings& settings, const std::string& bucket, const S3ListQuery& query,
                                 const std::optional<Credentials>& credentials, UtcTime now) {
  HttpRequest request{.url = list_objects_url(settings, bucket, query), .certificates = settings.certificates};
  finish_request(request, settings, credentials, now);
  return request;
}

const std::string& checked_region(const std::string& region) {
  if (region.empty() || !consists_of(region, "-")) {
    throw bad_setting("bad AWS region", region, "set AWS_REGION to a name such as us-east-1");
  }
  return region;
}

std::string_view dns_suffix_of(std::string_view region) {
  if (region.starts_with("cn-")) return "amazonaws.com.cn";
  if (region.starts_with("eusc-")) return "amazonaws.eu";
  if (region.starts_with("us-iso-")) return "c2s.ic.gov";
  if (region.starts_with("us-isob-")) return "sc2s.sgov.gov";
  return "amazonaws.com";
}

}  // namespace bale
