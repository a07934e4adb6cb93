#include "bale/formats/beton/value.hpp"

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/field_names.hpp"

namespace bale::beton {
namespace {

constexpr std::uint64_t k_channels = 3;
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 32;

/// nullopt if it is 4 GiB or more.
std::optional<std::uint64_t> array_bytes(const Column& column) {
  std::uint64_t bytes = element_bytes(column.type);
  for (const std::uint64_t side : column.shape) {
    // The product of two numbers below 2^32 fits.
    if (side >= k_max_bytes || bytes >= k_max_bytes) return std::nullopt;
    bytes *= side;
  }
  return bytes < k_max_bytes ? std::optional(bytes) : std::nullopt;
}

}  // namespace

Value value_of(const Column& column, Bytes metadata, std::uint64_t position) {
  const std::byte* const at = metadata.data();
  switch (column.kind) {
    case ValueKind::number:
      return {.offset = position, .bytes = sizeof(std::uint64_t)};
    case ValueKind::image: {
      Value value{.offset = load_at<std::uint64_t>(at + 5),
                  .mode = std::to_integer<std::uint8_t>(*at),
                  .width = load_at<std::uint16_t>(at + 1),
                  .height = load_at<std::uint16_t>(at + 3)};
      if (value.mode == k_raw) value.bytes = k_channels * value.width * value.height;
      return value;
    }
    case ValueKind::bytes:
    case ValueKind::json:
      return {.offset = load_at<std::uint64_t>(at), .bytes = load_at<std::uint64_t>(at + 8)};
    case ValueKind::array:
      return {.offset = load_at<std::uint64_t>(at), .bytes = array_bytes(column)};
    default:
      return {.offset = load_at<std::uint64_t>(at)};
  }
}

std::optional<ArrayConversion> conversion_of(const Column& column, const Value& value) {
  const bool is_raw = column.kind == ValueKind::image && value.mode == k_raw;
  const bool is_array = column.kind == ValueKind::array || column.kind == ValueKind::number;
  if ((!is_raw && !is_array) || !value.bytes) return std::nullopt;
  const std::vector<std::uint64_t> pixels{value.height, value.width, k_channels};
  return ArrayConversion{
      .extension = std::string(k_array_field),
      .head = is_raw ? array_header_text("|u1", pixels) : array_header_text(column.type, column.shape),
      .tail_bytes = *value.bytes};
}

}  // namespace bale::beton
