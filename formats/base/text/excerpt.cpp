#include "bale/formats/base/text/excerpt.hpp"

#include <fmt/format.h>

namespace bale {
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
