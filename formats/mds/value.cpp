#include "bale/formats/mds/value.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/array_header.hpp"
#include "bale/formats/base/field_names.hpp"

namespace bale::mds {
namespace {

constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 32;

/// nullopt if the bytes do not fit in a field.
std::optional<std::uint64_t> bytes_of(std::string_view type, const std::vector<std::uint64_t>& shape) {
  std::uint64_t bytes = type_bytes(type);
  for (const std::uint64_t side : shape) {
    if (side >= k_max_bytes || bytes * side >= k_max_bytes) return std::nullopt;
    bytes *= side;
  }
  return bytes;
}

std::optional<Delivery> array_file(std::string_view type, const std::vector<std::uint64_t>& shape, std::uint64_t skip) {
  const auto bytes = bytes_of(type, shape);
  if (!bytes) return std::nullopt;
  return Delivery{.extension = std::string(k_array_field),
                  .head = array_header_text(type, shape),
                  .skip = skip,
                  .tail_bytes = *bytes};
}

/// Source: `_int2value_dtype` of encodings.py: the number of bits, plus 1 if signed, plus 2 if a float.
std::string type_of_code(std::uint8_t code) {
  const unsigned bits = code & 0xF8U;
  const unsigned kind = code & 7U;
  if (kind > 2) return {};
  return number_type(fmt::format("{}{}", kind == 0 ? "uint" : kind == 1 ? "int" : "float", bits));
}

std::optional<Delivery> array_delivery(const Column& column, Bytes front) {
  std::uint64_t at = 0;
  std::string type = column.type;
  if (type.empty()) {
    if (front.empty()) return std::nullopt;
    type = type_of_code(std::to_integer<std::uint8_t>(front[at++]));
    if (type.empty()) return std::nullopt;
  }
  if (!column.shape.empty()) return array_file(type, column.shape, at);
  if (front.size() <= at) return std::nullopt;
  const auto packed = std::to_integer<std::uint8_t>(front[at++]);
  const std::size_t side_bytes = std::size_t{1} << (packed & 3U);
  std::vector<std::uint64_t> shape(packed >> 2U);
  if (front.size() - at < shape.size() * side_bytes) return std::nullopt;
  for (std::uint64_t& side : shape) {
    for (std::size_t byte = 0; byte < side_bytes; ++byte) {
      side |= std::to_integer<std::uint64_t>(front[at++]) << (8 * byte);
    }
  }
  return array_file(type, shape, at);
}

/// Modes of Pillow and what a pixel consists of. A mode that is not here has no whole number of bytes per pixel, or is
/// rare.
struct Mode {
  std::string_view name;
  std::string_view type;
  std::uint64_t channels;
};
constexpr Mode k_modes[] = {{"L", "|u1", 1},    {"P", "|u1", 1},   {"RGB", "|u1", 3},  {"YCbCr", "|u1", 3},
                            {"HSV", "|u1", 3},  {"LAB", "|u1", 3}, {"RGBA", "|u1", 4}, {"RGBX", "|u1", 4},
                            {"CMYK", "|u1", 4}, {"LA", "|u1", 2},  {"I", "<i4", 1},    {"F", "<f4", 1},
                            {"I;16", "<u2", 1}};

std::optional<Delivery> image_delivery(const Column& column, Bytes front) {
  constexpr std::size_t k_sizes = 12;
  if (front.size() < k_sizes) return std::nullopt;
  const auto width = load_at<std::uint32_t>(front.data());
  const auto height = load_at<std::uint32_t>(front.data() + 4);
  const auto mode_bytes = load_at<std::uint32_t>(front.data() + 8);
  if (mode_bytes > front.size() - k_sizes) return std::nullopt;
  const std::string_view name = as_text(front.subspan(k_sizes, mode_bytes));
  for (const Mode& mode : k_modes) {
    if (mode.name != name) continue;
    std::vector<std::uint64_t> shape{height, width};
    if (mode.channels > 1) shape.push_back(mode.channels);
    auto delivery = array_file(mode.type, shape, k_sizes + mode_bytes);
    if (delivery && column.role == Role::image && (name == "L" || name == "P")) {
      delivery->extension = "pgm";
      delivery->head = fmt::format("P5\n{} {}\n255\n", width, height);
    }
    return delivery;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Delivery> delivery_of(const Column& column, Bytes front) {
  switch (column.kind) {
    case ValueKind::number:
      return array_file(column.type, {}, 0);
    case ValueKind::array:
      return array_delivery(column, front);
    case ValueKind::pixels:
      return image_delivery(column, front);
    default:
      return std::nullopt;
  }
}

}  // namespace bale::mds
