#include "bale/formats/storage/aws/sigv4.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/context/crypto_api.hpp"

namespace bale {
namespace {

constexpr std::string_view k_algorithm = "AWS4-HMAC-SHA256";
constexpr std::size_t k_sha256_size = 32;
using Sha256 = std::array<unsigned char, k_sha256_size>;
using Query = std::vector<std::pair<std::string, std::string>>;  // encoded names and values

/// Removed before signing: they are made again.
constexpr std::array<std::string_view, 4> k_signature_headers = {"authorization", "x-amz-content-sha256", "x-amz-date",
                                                                 "x-amz-security-token"};
/// Never signed: the connection's own, and those that proxies and gateways are known to change.
constexpr std::array<std::string_view, 7> k_unsigned_headers = {
    "accept-encoding", "connection", "expect", "te", "transfer-encoding", "user-agent", "x-amzn-trace-id"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string hex(const Sha256& digest) {
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

void require_crypto(bool succeeded) {
  if (!succeeded)
    throw Error(ErrorCode::io, "OpenSSL cannot compute SHA-256", {.hint = "check OpenSSL's configuration"});
}

Sha256 hmac(std::string_view key, std::string_view text) {
  Sha256 digest{};
  unsigned size = k_sha256_size;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  require_crypto(
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, text.size(), digest.data(), &size) != nullptr);
  return digest;
}

std::string_view as_key(const Sha256& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

/// Without blanks at the ends, and with one space for each run of blanks.
std::string trimmed_header(std::string_view value) {
  std::string trimmed;
  bool pending = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      pending = !trimmed.empty();
      continue;
    }
    if (std::exchange(pending, false)) trimmed += ' ';
    trimmed += c;
  }
  return trimmed;
}

/// The Host header that libcurl sends: without the scheme's own port.
std::string host_header(const UrlParts& url) {
  const std::string_view host = host_of(url.authority);
  const std::string_view port = url.authority.substr(host.size());
  const bool is_default = port == ":" || (url.scheme == "https" ? port == ":443" : port == ":80");
  return std::string(is_default ? host : url.authority);
}

/// RFC 3986, 5.2.4, and without empty segments.
std::string normalized_path(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = path.substr(at, end - at);
    at = end + 1;
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
  }
  std::string normalized;
  for (const std::string_view segment : segments) normalized.append("/").append(segment);
  const bool is_directory = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  if (normalized.empty() || is_directory) normalized += '/';
  return normalized;
}

std::string canonical_path(const UrlParts& url, std::string_view service) {
  if (service != "s3") return percent_encode(normalized_path(url.path), true);
  if (url.path.empty()) return "/";
  return percent_encode(percent_decode(url.path, false).value_or(std::string(url.path)), true);
}

std::string re_encoded(std::string_view text) {
  return percent_encode(percent_decode(text, false).value_or(std::string(text)), false);
}

Query parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    query.emplace_back(re_encoded(item.substr(0, equals)), re_encoded(item.substr(std::min(equals + 1, item.size()))));
  }
  return query;
}

std::string canonical_query(Query query) {
  std::sort(query.begin(), query.end());
  std::string text;
  for (const auto& [name, value] : query) text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

/// Lower-case names, each with its values joined by commas.
std::map<std::string, std::string> headers_to_sign(const HttpRequest& request, const UrlParts& url) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) {
    const std::string lower = lower_case(name);
    if (contains(k_unsigned_headers, lower)) continue;
    const auto [entry, is_new] = headers.try_emplace(lower, trimmed_header(value));
    if (!is_new) entry->second += "," + trimmed_header(value);
  }
  headers.try_emplace("host", host_header(url));
  return headers;
}

std::string joined_names(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& entry : headers) names.append(names.empty() ? "" : ";").append(entry.first);
  return names;
}

std::string scope_text(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", compact_utc_time(scope.time).substr(0, 8), scope.region, scope.service);
}

std::string signature_of(const std::string& canonical_request, const Credentials& credentials,
                         const SigningScope& scope) {
  const std::string time = compact_utc_time(scope.time);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", k_algorithm, time, scope_text(scope), sha256_hex(canonical_request));
  Sha256 key = hmac("AWS4" + credentials.secret_access_key, time.substr(0, 8));
  key = hmac(as_key(key), scope.region);
  key = hmac(as_key(key), scope.service);
  key = hmac(as_key(key), "aws4_request");
  return hex(hmac(as_key(key), to_sign));
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest{};
  require_crypto(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return hex(digest);
}

void sign_request(HttpRequest& request, const Credentials& credentials, const SigningScope& scope,
                  std::string_view payload_hash) {
  const UrlParts url = split_url(request.url);
  std::erase_if(request.headers,
                [](const auto& header) { return contains(k_signature_headers, lower_case(header.first)); });
  request.headers.emplace_back("x-amz-date", compact_utc_time(scope.time));
  if (scope.service == "s3") request.headers.emplace_back("x-amz-content-sha256", payload_hash);
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const auto headers = headers_to_sign(request, url);
  std::string lines;
  for (const auto& [name, value] : headers) lines += fmt::format("{}:{}\n", name, value);
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, canonical_path(url, scope.service),
                  canonical_query(parse_query(url.query)), lines, joined_names(headers), payload_hash);
  request.headers.emplace_back(
      "Authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", k_algorithm, credentials.access_key_id,
                  scope_text(scope), joined_names(headers), signature_of(canonical, credentials, scope)));
}

}  // namespace bale
