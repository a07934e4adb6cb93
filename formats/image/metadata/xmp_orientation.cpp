#include "bale/formats/image/metadata/orientation.hpp"

#include <algorithm>
#include <cstddef>

namespace bale::image_detail {
namespace {

constexpr std::string_view k_name = "tiff:Orientation";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The end of an element (<tiff:Orientation>6</tiff:Orientation>) whose name begins at `name`, or `npos`.
std::size_t end_of_element(std::string_view packet, std::size_t name) {
  const std::size_t tag_end = packet.find('>', name);
  if (tag_end == std::string_view::npos) return tag_end;
  if (packet[tag_end - 1] == '/') return tag_end + 1;
  const std::size_t close = packet.find('<', tag_end);
  if (close == std::string_view::npos || packet.substr(close + 1, 1 + k_name.size()) != "/tiff:Orientation") {
    return std::string_view::npos;
  }
  const std::size_t end = packet.find('>', close);
  return end == std::string_view::npos ? end : end + 1;
}

/// The end of an attribute (tiff:Orientation="6") whose name begins at `name`, or `npos`.
std::size_t end_of_attribute(std::string_view packet, std::size_t name) {
  std::size_t at = name + k_name.size();
  const auto skip_space = [&] {
    while (at < packet.size() && is_space(packet[at])) ++at;
  };
  skip_space();
  if (at >= packet.size() || packet[at] != '=') return std::string_view::npos;
  ++at;
  skip_space();
  if (at >= packet.size() || (packet[at] != '"' && packet[at] != '\'')) return std::string_view::npos;
  const std::size_t end = packet.find(packet[at], at + 1);
  return end == std::string_view::npos ? end : end + 1;
}

}  // namespace

int read_xmp_orientation(std::string_view packet) {
  for (std::size_t at = packet.find(k_name); at != std::string_view::npos; at = packet.find(k_name, at + 1)) {
    std::string_view rest = packet.substr(at + k_name.size());
    const std::size_t sign = rest.substr(0, 2) == "=\"" ? 2 : rest.substr(0, 1) == ">" ? 1 : 0;
    if (sign == 0 || rest.size() <= sign || !is_digit(rest[sign])) continue;
    const int value = rest[sign] - '0';
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

void drop_xmp_orientation(std::string& packet) {
  for (std::size_t at = packet.find(k_name); at != std::string::npos; at = packet.find(k_name, at + 1)) {
    const char before = at == 0 ? '\0' : packet[at - 1];
    std::size_t begin = at;
    std::size_t end = std::string::npos;
    if (before == '<') {
      begin = at - 1;
      end = end_of_element(packet, at);
    } else if (is_space(before)) {
      end = end_of_attribute(packet, at);
    }
    const auto place = [&](std::size_t offset) { return packet.begin() + static_cast<std::ptrdiff_t>(offset); };
    if (end != std::string::npos) {
      std::fill(place(begin), place(end), ' ');
      continue;
    }
    // No known form of XML; Pillow would still read a digit here as an orientation.
    std::size_t digit = at + k_name.size();
    while (digit < packet.size() && (packet[digit] == '=' || packet[digit] == '"' || packet[digit] == '>')) ++digit;
    if (digit < packet.size() && is_digit(packet[digit])) packet[digit] = '1';
  }
}

}  // namespace bale::image_detail
