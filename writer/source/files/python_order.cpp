#include "bale/writer/source/files/directory_listing.hpp"

#include <algorithm>
#include <cstdint>

#include "bale/formats/base/text/utf8.hpp"

namespace bale {
namespace {

/// Removes the first code point from `text` and returns it.
std::uint32_t take_code_point(std::string_view& text) {
  const std::size_t length = utf8_sequence_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 0) {
    text.remove_prefix(1);
    return 0xDC00U + first;
  }
  static constexpr std::uint32_t k_lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code_point = first & k_lead_mask[length];
  for (std::size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(length);
  return code_point;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

}  // namespace

bool python_less(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  // If an ASCII byte or the end follows in both, the common part decodes alike, so this byte decides.
  const bool plain_a = in_a == a.end() || is_ascii(*in_a);
  const bool plain_b = in_b == b.end() || is_ascii(*in_b);
  if (plain_a && plain_b) return in_b != b.end() && (in_a == a.end() || *in_a < *in_b);
  while (!a.empty() && !b.empty()) {
    const std::uint32_t from_a = take_code_point(a);
    const std::uint32_t from_b = take_code_point(b);
    if (from_a != from_b) return from_a < from_b;
  }
  return a.empty() && !b.empty();
}

}  // namespace bale
