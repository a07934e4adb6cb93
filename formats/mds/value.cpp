#include "bale/formats/mds/value.hpp"

#include <vector>

#include <fmt/format.h>

namespace bale::mds {
namespace {

/// Source: `_int2value_dtype` of encodings.py: the number of bits, plus 1 if signed, plus 2 if a float.
std::string type_of_code(std::uint8_t code) {
  const unsigned bits = code & 0xF8U;
  const unsigned kind = code & 7U;
  if (kind > 2) return {};
  return number_type(fmt::format("{}{}", kind == 0 ? "uint" : kind == 1 ? "int" : "float", bits));
}

std::optional<Delivery> own_array(const Column& column, Bytes front) {
  std::uint64_t at = 0;
  std::string type = column.type;
  if (type.empty()) {
    if (front.empty()) return std::nullopt;
    type = type_of_code(std::to_integer<std::uint8_t>(front[at++]));
    if (type.empty()) return std::nullopt;
  }
  if (!column.shape.empty()) return array_delivery(type, column.shape, at);
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
  return array_delivery(type, shape, at);
}

}  // namespace

std::optional<Delivery> delivery_of(const Column& column, Bytes front) {
  switch (column.kind) {
    case ValueKind::number:
      return array_delivery(column.type, {}, 0);
    case ValueKind::array:
      return own_array(column, front);
    case ValueKind::pixels:
      return pillow_delivery(front, column.role == Role::image);
    default:
      return std::nullopt;
  }
}

}  // namespace bale::mds
