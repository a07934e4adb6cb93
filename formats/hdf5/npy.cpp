#include "bale/formats/hdf5/npy.hpp"

#include <charconv>

#include <fmt/format.h>

namespace bale::h5 {
namespace {

constexpr std::string_view k_magic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t k_prefix_bytes = 10;
constexpr std::size_t k_alignment = 64;

}  // namespace

std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape) {
  std::string sides;
  for (const std::uint64_t side : shape) sides += fmt::format("{}{}", sides.empty() ? "" : ", ", side);
  if (shape.size() == 1) sides += ",";
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sides);
  // Two lines of 64 bytes at least, NumPy's own size for images.
  std::size_t total = 2 * k_alignment;
  while (total < k_prefix_bytes + dict.size() + 1) total += k_alignment;
  dict.resize(total - k_prefix_bytes - 1, ' ');
  dict += '\n';
  std::string header(k_magic);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

std::optional<NpyImage> parse_npy_image(Bytes npy) {
  const std::string_view text = as_text(npy);
  if (text.size() < k_prefix_bytes || !text.starts_with(k_magic)) return std::nullopt;
  const std::size_t length =
      static_cast<unsigned char>(text[8]) | static_cast<std::size_t>(static_cast<unsigned char>(text[9])) << 8;
  if (length > text.size() - k_prefix_bytes) return std::nullopt;
  const std::string_view dict = text.substr(k_prefix_bytes, length);
  constexpr std::string_view k_shape = "'shape': (";
  const std::size_t shape = dict.find(k_shape);
  if (shape == std::string_view::npos || dict.find("'descr': '|u1'") == std::string_view::npos ||
      dict.find("'fortran_order': False") == std::string_view::npos) {
    return std::nullopt;
  }
  const char* at = dict.data() + shape + k_shape.size();
  const char* const end = dict.data() + dict.size();
  std::uint32_t sides[2] = {};
  for (std::uint32_t& side : sides) {
    const auto [after, error] = std::from_chars(at, end, side);
    if (error != std::errc{} || end - after < 2 || after[0] != ',' || after[1] != ' ') return std::nullopt;
    at = after + 2;
  }
  if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with("3)")) return std::nullopt;
  const Bytes pixels = npy.subspan(k_prefix_bytes + length);
  if (std::uint64_t{sides[0]} * sides[1] != pixels.size() / 3 || pixels.size() % 3 != 0) return std::nullopt;
  return NpyImage{.width = sides[1], .height = sides[0], .pixels = pixels};
}

}  // namespace bale::h5
