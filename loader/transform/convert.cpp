#include "bale/loader/transform/convert.hpp"

#include <cstring>

#include "bale/loader/transform/half.hpp"
#include "bale/loader/transform/places.hpp"

namespace bale::transform_detail {
namespace {

template <typename Value>
void convert(const PixelView& pixels, const std::array<std::array<Value, 256>, 3>& tables, const Places& places,
             std::byte* out) {
  for (std::uint32_t y = 0; y < pixels.height; ++y) {
    const std::uint8_t* row = pixels.rgb + y * pixels.stride;
    std::byte* red = out + y * places.row * sizeof(Value);
    std::byte* green = red + places.channel * sizeof(Value);
    std::byte* blue = green + places.channel * sizeof(Value);
    for (std::size_t x = 0; x < pixels.width; ++x, row += 3) {
      store(red, x * places.column, tables[0][row[0]]);
      store(green, x * places.column, tables[1][row[1]]);
      store(blue, x * places.column, tables[2][row[2]]);
    }
  }
}

}  // namespace

PixelConverter::PixelConverter(const Transform& transform) : dtype_(transform.dtype), layout_(transform.layout) {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      float converted = static_cast<float>(value) / 255.0F;
      if (transform.normalize) converted = (converted - transform.mean[channel]) / transform.stddev[channel];
      bytes_[channel][value] = static_cast<std::uint8_t>(value);
      halves_[channel][value] = dtype_ == DType::bfloat16 ? to_bfloat16(converted) : to_float16(converted);
      floats_[channel][value] = converted;
    }
  }
}

void PixelConverter::run(const PixelView& pixels, std::uint32_t width, std::uint32_t height, std::byte* out) const {
  const Places places = places_of(layout_, width, height);
  switch (dtype_) {
    case DType::uint8:
      if (layout_ == PixelLayout::nchw) return convert(pixels, bytes_, places, out);
      for (std::uint32_t y = 0; y < pixels.height; ++y) {
        std::memcpy(out + y * places.row, pixels.rgb + y * pixels.stride, std::size_t{pixels.width} * 3);
      }
      return;
    case DType::float16:
    case DType::bfloat16:
      return convert(pixels, halves_, places, out);
    case DType::float32:
      return convert(pixels, floats_, places, out);
  }
}

std::vector<std::byte> conversion_table(Transform transform) {
  std::vector<std::uint8_t> all;
  for (int value = 0; value < 256; ++value) all.insert(all.end(), 3, static_cast<std::uint8_t>(value));
  transform.layout = PixelLayout::nchw;
  std::vector<std::byte> table(std::size_t{3} * 256 * dtype_bytes(transform.dtype));
  PixelConverter(transform).run({all.data(), all.size(), 256, 1}, 256, 1, table.data());
  return table;
}

}  // namespace bale::transform_detail
