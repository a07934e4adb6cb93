#include "bale/formats/storage/location/remote_url.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
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
