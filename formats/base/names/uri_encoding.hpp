// Percent-encoding (RFC 3986) as AWS defines it, and the parts of a URL.
//
// Only letters, digits, '-', '.', '_' and '~' stay as they are; hex digits are upper case. Texts are bytes in no
// particular encoding. Ownership: UrlParts borrows from the URL. Threads: plain functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/base/error.hpp"

namespace bale {

inline std::string percent_encode(std::string_view raw, bool keep_slash) {
  constexpr std::string_view k_digits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(raw.size());
  for (const char c : raw) {
    const bool is_alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_alphanumeric || c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += k_digits[byte >> 4U];
      encoded += k_digits[byte & 0xFU];
    }
  }
  return encoded;
}

/// nullopt if a '%' is not followed by two hex digits. A form (application/x-www-form-urlencoded) has '+' for a space.
inline std::optional<std::string> percent_decode(std::string_view encoded, bool is_form) {
  const auto digit = [&](std::size_t at) {
    const char c = at < encoded.size() ? encoded[at] : '\0';
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string raw;
  raw.reserve(encoded.size());
  for (std::size_t at = 0; at < encoded.size(); ++at) {
    if (encoded[at] != '%') {
      raw += is_form && encoded[at] == '+' ? ' ' : encoded[at];
      continue;
    }
    const int high = digit(at + 1);
    const int low = digit(at + 2);
    if (high < 0 || low < 0) return std::nullopt;
    raw += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return raw;
}

/// SCHEME://AUTHORITY PATH ?QUERY. The path may be empty; the query is without '?'.
struct UrlParts {
  std::string_view scheme{};
  std::string_view authority{};  // host and port, without user and password
  std::string_view path{};
  std::string_view query{};
};

/// Throws `invalid_argument` if there is no scheme or no host. A fragment is not part of the result.
inline UrlParts split_url(std::string_view url) {
  UrlParts parts;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0) {
    throw Error(ErrorCode::invalid_argument, "not a URL: it has no \"://\"", {.hint = "write https://HOST/PATH"});
  }
  parts.scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  parts.authority = rest.substr(0, authority_end);
  const std::size_t at_sign = parts.authority.rfind('@');
  if (at_sign != std::string_view::npos) parts.authority.remove_prefix(at_sign + 1);
  if (parts.authority.empty()) throw Error(ErrorCode::invalid_argument, "the URL has no host");
  rest.remove_prefix(authority_end);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  parts.path = rest.substr(0, question);
  if (question < rest.size()) parts.query = rest.substr(question + 1);
  return parts;
}

/// The authority without its port: "[::1]:9000" -> "[::1]".
inline std::string_view host_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? authority.substr(0, colon) : authority;
}

}  // namespace bale
