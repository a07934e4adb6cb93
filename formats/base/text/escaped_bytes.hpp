// Bytes as one line of valid UTF-8: for keys (key_text.hpp) and for names and messages (printable()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/text/utf8.hpp"

namespace bale {

enum class EscapeBackslash : std::uint8_t { no, yes };

/// `raw` with control bytes and invalid UTF-8 as \xNN and, if requested, a backslash as two.
inline std::string escape_bytes(std::string_view raw, EscapeBackslash backslash) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t length = utf8_sequence_length(raw.substr(at));
    const auto first = static_cast<unsigned char>(raw[at]);
    const bool c1_control = length == 2 && first == 0xC2 && static_cast<unsigned char>(raw[at + 1]) < 0xA0;
    if (length == 0 || first < 0x20 || first == 0x7F || c1_control) {
      out += fmt::format("\\x{:02x}", first);
      at += 1;
    } else {
      if (backslash == EscapeBackslash::yes && first == '\\') out += '\\';
      out.append(raw.substr(at, length));
      at += length;
    }
  }
  return out;
}

/// Excerpt: the part of a text that a message shows. A text from a file may be arbitrarily long.
/// `text` if it has at most `most` bytes. Otherwise its head and tail with its length between them: at most `most`
/// bytes and about 40 for the length. Characters of valid UTF-8 stay whole.
std::string excerpt(std::string_view text, std::size_t most);

}  // namespace bale
