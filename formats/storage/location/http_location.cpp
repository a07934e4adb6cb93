// http:// and https://: files of any web server.
#include <algorithm>
#include <span>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {
namespace {

/// Encodes what a URL cannot hold, such as spaces and bytes above 127. What is encoded already stays.
std::string without_odd_bytes(std::string_view url) {
  std::string encoded;
  for (const char c : url) {
    const bool is_odd = c <= ' ' || c == '"' || c == '<' || c == '>' || c == '\\' || c == '^' || c == '`' || c == '{' ||
                        c == '|' || c == '}' || c == '\x7f' || static_cast<unsigned char>(c) >= 0x80;
    encoded += is_odd ? percent_encode({&c, 1}, false) : std::string(1, c);
  }
  return encoded;
}

/// Also presigned.
class HttpLocation final : public RemoteUrl {
 public:
  explicit HttpLocation(const std::string& name) : RemoteUrl(name), url_(without_odd_bytes(name)) {
    try {
      const std::string_view authority = split_url(url_).authority;
      if (!authority.empty() && !authority.starts_with(':')) return;
    } catch (const Error&) {  // it does not name the URL
    }
    throw Error(ErrorCode::invalid_argument, "the URL has no host", {.path = name, .hint = "write https://HOST/PATH"});
  }

  std::string identity() const override { return without_signature(url_); }

  HttpRequest get(const GetCondition& condition) const override {
    require_online();
    return get_request(url_, condition);
  }

  std::string join(std::string_view file) const override {
    const std::size_t query = begin_of_query(name());
    return join_path(name().substr(0, query), percent_encode(file, true)) + name().substr(query);
  }

 private:
  std::string url_;
};

}  // namespace

std::shared_ptr<const RemoteUrl> locate_http(const std::string& name) { return std::make_shared<HttpLocation>(name); }

namespace {

/// A kind of signature: if the query has all parameters of `signs`, those of `own` are the signature's. A name that
/// ends with '*' stands for all that begin so.
struct SignedQuery {
  std::span<const std::string_view> signs;
  std::span<const std::string_view> own;
};

constexpr std::string_view k_amazon_signs[] = {"X-Amz-Signature"};
constexpr std::string_view k_amazon[] = {"X-Amz-*"};
constexpr std::string_view k_google_signs[] = {"X-Goog-Signature"};
constexpr std::string_view k_google[] = {"X-Goog-*"};
constexpr std::string_view k_older_signs[] = {"Signature", "Expires"};
constexpr std::string_view k_older[] = {"Signature",   "Expires", "AWSAccessKeyId",      "GoogleAccessId",
                                        "Key-Pair-Id", "Policy",  "x-amz-security-token"};
constexpr std::string_view k_policy_signs[] = {"Signature", "Policy"};
constexpr std::string_view k_azure_signs[] = {"sig", "sv"};
constexpr std::string_view k_azure[] = {"sig", "sv",  "ss",    "srt",   "sp",    "se",  "st",  "spr",
                                        "sip", "sr",  "si",    "skoid", "sktid", "skt", "ske", "sks",
                                        "skv", "sdd", "saoid", "suoid", "scid",  "ses"};
constexpr std::string_view k_bare_sig[] = {"sig"};
constexpr std::string_view k_bare_signature[] = {"Signature"};

constexpr SignedQuery k_signed_queries[] = {
    {k_amazon_signs, k_amazon},
    {k_google_signs, k_google},
    {k_older_signs, k_older},
    {k_policy_signs, k_older},
    {k_azure_signs, k_azure},
    {k_bare_sig, k_bare_sig},
    {k_bare_signature, k_bare_signature},
};

bool stands_for(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return begins_with_ignoring_case(name, pattern.substr(0, pattern.size() - 1));
}

std::string_view name_of_parameter(std::string_view parameter) { return parameter.substr(0, parameter.find('=')); }

}  // namespace

std::string without_signature(std::string_view url) {
  const std::size_t mark = url.find('?');
  if (mark == std::string_view::npos) return std::string(url);
  std::vector<std::string_view> parameters;
  for (std::string_view rest = url.substr(mark + 1);;) {
    const std::size_t end = rest.find('&');
    parameters.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  const auto has = [&](std::string_view pattern) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](std::string_view one) { return stands_for(pattern, name_of_parameter(one)); });
  };
  for (const SignedQuery& kind : k_signed_queries) {
    if (!std::all_of(kind.signs.begin(), kind.signs.end(), has)) continue;
    std::erase_if(parameters, [&](std::string_view one) {
      return std::any_of(kind.own.begin(), kind.own.end(),
                         [&](std::string_view pattern) { return stands_for(pattern, name_of_parameter(one)); });
    });
  }
  std::string kept(url.substr(0, mark));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    kept += i == 0 ? '?' : '&';
    kept += parameters[i];
  }
  return kept;
}

}  // namespace bale
