#include "bale/formats/image/png/mask.hpp"

#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::string_view k_png_magic{"\x89PNG\r\n\x1a\n", 8};

template <typename Value>
void read_values(Bytes from, bool fortran_order, Mask& mask) {
  const std::size_t width = mask.width;
  const std::size_t height = mask.height;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const auto value = load_at<Value>(from.data() + (fortran_order ? x * height + y : y * width + x) * sizeof(Value));
      const auto number = static_cast<std::int64_t>(value);
      if (number < 0 || number > 65535) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("mask with the value {} at ({}, {}); 0 to 65535 are possible", value, x, y));
      }
      mask.values[y * width + x] = static_cast<std::uint16_t>(number);
    }
  }
}

/// The bytes of one value; 0 for types that a mask does not have.
std::size_t value_bytes_of(std::string_view type) {
  if (type == "|b1" || type == "|u1" || type == "|i1") return 1;
  if (type == "<u2" || type == "<i2") return 2;
  if (type == "<u4" || type == "<i4") return 4;
  return type == "<i8" || type == "<u8" ? 8 : 0;
}

Mask decode_array_mask(Bytes bytes, std::uint64_t max_pixels) {
  const auto header = parse_array_header(bytes);
  if (!header) fail_array_header(bytes);
  const std::size_t value_bytes = value_bytes_of(header->type);
  constexpr std::uint64_t k_max_side = 0x7FFFFFFF;
  if (value_bytes == 0 || header->shape.size() != 2 || header->shape[0] > k_max_side || header->shape[1] > k_max_side) {
    throw Error(ErrorCode::unsupported, "a mask is an array of whole numbers, height x width");
  }
  Mask mask{.width = static_cast<std::uint32_t>(header->shape[1]),
            .height = static_cast<std::uint32_t>(header->shape[0]),
            .values = {}};
  const std::uint64_t num_pixels = std::uint64_t{mask.width} * mask.height;
  if (num_pixels > max_pixels) {
    throw Error(ErrorCode::unsupported,
                fmt::format("mask of {}x{} pixels; {} pixels is the limit", mask.width, mask.height, max_pixels));
  }
  const Bytes values = bytes.subspan(header->data_offset);
  if (values.size() != num_pixels * value_bytes) {
    throw Error(ErrorCode::damaged, fmt::format("mask of {}x{} pixels has {} bytes of values, not {}", mask.width,
                                                mask.height, values.size(), num_pixels * value_bytes));
  }
  mask.values.resize(num_pixels);
  const bool turned = header->fortran_order;
  const bool is_signed = header->type[1] == 'i';
  if (value_bytes == 1)
    is_signed ? read_values<std::int8_t>(values, turned, mask) : read_values<std::uint8_t>(values, turned, mask);
  if (value_bytes == 2)
    is_signed ? read_values<std::int16_t>(values, turned, mask) : read_values<std::uint16_t>(values, turned, mask);
  if (value_bytes == 4)
    is_signed ? read_values<std::int32_t>(values, turned, mask) : read_values<std::uint32_t>(values, turned, mask);
  if (value_bytes == 8)
    is_signed ? read_values<std::int64_t>(values, turned, mask) : read_values<std::uint64_t>(values, turned, mask);
  return mask;
}

}  // namespace

Mask decode_mask(Bytes bytes, std::uint64_t max_pixels) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with(k_png_magic)) return image_detail::decode_png_mask(bytes, max_pixels);
  if (text.starts_with(k_array_magic)) return decode_array_mask(bytes, max_pixels);
  throw Error(ErrorCode::unsupported, "a mask is a PNG of one channel or a NumPy array");
}

}  // namespace bale
