#include "bale/formats/base/text/key_text.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include "bale/formats/base/text/escaped_bytes.hpp"

namespace bale {
namespace {

constexpr std::size_t k_escape_size = 4;  // "\xNN"

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte of the "\xNN" that `text` begins with; -1 if it does not.
int escaped_byte(std::string_view text) {
  if (text.size() < k_escape_size || !text.starts_with("\\x")) return -1;
  const int high = digit_of(text[2]);
  const int low = digit_of(text[3]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

std::string printed_key(std::string_view key) { return escape_bytes(key, EscapeBackslash::yes); }

std::string read_key(std::string_view text) {
  std::string key;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const int byte = escaped_byte(rest);
    key += byte >= 0 ? static_cast<char>(byte) : rest[0];
    at += byte >= 0 ? k_escape_size : rest.starts_with("\\\\") ? 2 : 1;
  }
  return key;
}

KeyPattern::KeyPattern(std::string_view text) : key_(read_key(text)) {
  for (std::size_t at = 0; at < text.size();) {
    const int byte = escaped_byte(text.substr(at));
    const bool is_pair = byte < 0 && text[at] == '\\' && at + 1 < text.size();
    if (byte >= 0) {
      glob_.append("\\").push_back(static_cast<char>(byte));
    } else {
      glob_ += text.substr(at, is_pair ? 2 : 1);
    }
    at += byte >= 0 ? k_escape_size : is_pair ? 2 : 1;
  }
}

bool KeyPattern::matches(const std::string& key) const {
  return key == key_ || ::fnmatch(glob_.c_str(), key.c_str(), 0) == 0;
}

namespace {

bool is_inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

}  // namespace

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  constexpr std::size_t k_longest_character = 4;
  std::size_t head = most - most / 3;
  std::size_t tail = text.size() - most / 3;
  for (std::size_t i = 0; i < k_longest_character && head > 0 && is_inside_character(text, head); ++i) --head;
  for (std::size_t i = 0; i < k_longest_character && is_inside_character(text, tail); ++i) ++tail;
  return fmt::format("{}[... {} bytes in all ...]{}", text.substr(0, head), text.size(), text.substr(tail));
}

}  // namespace bale
