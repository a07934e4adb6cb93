// How names and texts from outside are shown: without secrets, on one line, and not longer than a line should be.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"

namespace bale {
namespace {

constexpr std::string_view k_replaced = "***";
constexpr std::size_t k_shown_name = 512;
constexpr std::size_t k_escape_size = 4;  // "\\xNN"

bool is_of_a_scheme(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

struct FoundUrl {
  std::size_t begin = std::string_view::npos;      // of its scheme
  std::size_t authority = std::string_view::npos;  // after the slashes
};

/// The next URL whose parts may be secret. Path objects drop the second slash of "://". One letter is a drive, not a
/// scheme.
FoundUrl find_url(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(":/", from); at != std::string_view::npos; at = text.find(":/", at + 1)) {
    std::size_t begin = at;
    while (begin > from && is_of_a_scheme(text[begin - 1])) --begin;
    const std::size_t authority = std::min(text.find_first_not_of('/', at + 1), text.size());
    if (at - begin >= 2 && lower_case(text.substr(begin, at - begin)) != "file") return {begin, authority};
  }
  return {};
}

/// Whether what stands before the first slash can be a host with a port, and is not a user with a password that has a
/// slash.
bool is_host_and_port(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.starts_with('[')) return true;
  const std::string_view host = authority.substr(0, colon);
  const std::string_view port = authority.substr(colon + 1);
  const bool is_number = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && (host.find('.') != std::string_view::npos || host == "localhost");
}

/// Where user and password end, after their '@'; 0 if there are none.
std::size_t end_of_user(std::string_view url) {
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) return at + 1;
  return is_host_and_port(authority) ? 0 : url.rfind('@') + 1;
}

/// The query with the parameters that name a file; all others may be secret.
std::string query_without_secrets(std::string_view query) {
  static constexpr std::array<std::string_view, 6> k_names{"file",     "filename", "path",
                                                           "revision", "version",  "versionid"};
  std::string shown = "?";
  bool has_others = false;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    const std::size_t equals = parameter.find('=');
    const std::string name = lower_case(parameter.substr(0, std::min(equals, parameter.size())));
    if (equals != std::string_view::npos && std::find(k_names.begin(), k_names.end(), name) != k_names.end()) {
      shown.append(shown.size() == 1 ? "" : "&").append(parameter);
    } else {
      has_others = true;
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  if (has_others) shown.append(shown.size() == 1 ? "" : "&").append(k_replaced);
  return shown;
}

/// `url` is what comes after the scheme's slashes.
std::string url_without_secrets(std::string_view url) {
  std::string shown;
  if (const std::size_t end = end_of_user(url); end != 0) {
    shown.append(k_replaced).append("@");
    url.remove_prefix(end);
  }
  const std::size_t fragment = std::min(url.find('#'), url.size());
  const std::size_t query = std::min(url.find('?'), fragment);
  shown += url.substr(0, query);
  if (query < fragment) shown += query_without_secrets(url.substr(query + 1, fragment - query - 1));
  if (fragment < url.size()) shown.append("#").append(k_replaced);
  return shown;
}

/// The end of the URL whose authority begins at `begin`: before the "::" of a list, but for an address in brackets. A
/// name may hold spaces; in a sentence they end it.
std::size_t end_of_url(std::string_view text, std::size_t begin, bool is_name) {
  bool is_address = false;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest[0] == '[') is_address = true;
    if (rest[0] == ']' || rest[0] == '/') is_address = false;
    if (!is_address && rest.starts_with("::")) return at;
    if (rest.starts_with(": ") || rest.starts_with("; ") || rest.starts_with(" (")) return at;
    if (!is_name && (static_cast<unsigned char>(rest[0]) <= ' ' || rest[0] == '"' || rest[0] == '`')) return at;
  }
  return text.size();
}

}  // namespace

std::string without_secrets(std::string_view text) {
  if (text.starts_with("pipe:")) {  // a command may hold anything
    const std::size_t end = text.find(' ');
    return end == std::string_view::npos ? std::string(text) : fmt::format("{} {}", text.substr(0, end), k_replaced);
  }
  std::string shown;
  std::size_t at = 0;
  for (FoundUrl url = find_url(text, 0); url.begin != std::string_view::npos; url = find_url(text, at)) {
    const bool is_name = url.begin == 0 || text.substr(0, url.begin).ends_with("::");
    const std::size_t end = end_of_url(text, url.authority, is_name);
    shown += text.substr(at, url.authority - at);
    shown += url_without_secrets(text.substr(url.authority, end - url.authority));
    at = end;
  }
  return shown.append(text.substr(at));
}

std::string shown_name(std::string_view name) { return excerpt(printable(name), k_shown_name); }

std::string printable(std::string_view raw) { return escape_bytes(without_secrets(raw), EscapeBackslash::no); }

}  // namespace bale
