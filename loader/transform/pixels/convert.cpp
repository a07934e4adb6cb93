// Compiled without floating-point contraction.
#include "bale/loader/transform/pixels/convert.hpp"

#include <cstring>
#include <functional>

#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

/// The strides of an image, in values.
struct Places {
  std::size_t column;
  std::size_t row;
  std::size_t channel;
};

Places places_of(PixelLayout layout, std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  if (layout == PixelLayout::nhwc) return {.column = channels, .row = std::size_t{width} * channels, .channel = 1};
  return {.column = 1, .row = width, .channel = std::size_t{width} * height};
}

/// Stores the value number `index` of an image that need not be aligned.
template <typename Value>
void store(std::byte* out, std::size_t index, Value value) {
  std::memcpy(out + index * sizeof value, &value, sizeof value);
}

template <std::size_t channels, typename Value, typename Tables>
void convert_rows(const PixelView& pixels, const Tables& tables, const Places& places, std::byte* out) {
  for (std::uint32_t y = 0; y < pixels.height; ++y) {
    const std::uint8_t* row = pixels.rgb + y * pixels.stride;
    std::byte* const first = out + y * places.row * sizeof(Value);
    for (std::size_t x = 0; x < pixels.width; ++x, row += pixels.pixel_bytes) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        store(first + channel * places.channel * sizeof(Value), x * places.column, tables[channel][row[channel]]);
      }
    }
  }
}

template <typename Value>
void convert(const PixelView& pixels, const std::array<std::array<Value, 256>, 4>& tables, std::uint32_t channels,
             const Places& places, std::byte* out) {
  if (channels == 3) return convert_rows<3, Value>(pixels, tables, places, out);
  channels == 1 ? convert_rows<1, Value>(pixels, tables, places, out)
                : convert_rows<4, Value>(pixels, tables, places, out);
}

/// The rows of `pixels`, as they are.
void copy_rows(const PixelView& pixels, std::size_t row_bytes, std::byte* out) {
  for (std::uint32_t y = 0; y < pixels.height; ++y) {
    std::memcpy(out + y * row_bytes, pixels.rgb + y * pixels.stride, std::size_t{pixels.width} * pixels.pixel_bytes);
  }
}

/// Calls value_of() for every value of the rectangle, in the order channel, row, column, and stores the result.
template <typename Value, typename ValueOf>
void fill(const step::Erase& erase, const Transform& transform, std::byte* out, const ValueOf& value_of) {
  const Places places = places_of(transform.layout, transform.width, transform.height, transform.channels());
  for (std::size_t channel = 0; channel < transform.channels(); ++channel) {
    for (std::size_t y = erase.top; y < erase.top + erase.height; ++y) {
      for (std::size_t x = erase.left; x < erase.left + erase.width; ++x) {
        const std::size_t index = channel * places.channel + y * places.row + x * places.column;
        store<Value>(out, index, value_of(channel));
      }
    }
  }
}

template <typename Value, typename Convert>
void fill_converted(const step::Erase& erase, const Transform& transform, std::byte* out, const Convert& convert) {
  using With = step::Erase::With;
  KeyedRandom random{erase.noise_seed};
  // A list for other images than RGB has one value for all channels.
  std::array<float, 4> colors{erase.value[0], erase.value[1], erase.value[2], erase.value[0]};
  if (erase.with == With::channel_noise) {
    for (std::size_t i = 0; i < transform.channels(); ++i) colors[i] = static_cast<float>(portable_normal(random));
  }
  fill<Value>(erase, transform, out, [&](std::size_t channel) {
    return convert(erase.with == With::pixel_noise ? static_cast<float>(portable_normal(random)) : colors[channel]);
  });
}

}  // namespace

PixelConverter::PixelConverter(const Transform& transform)
    : dtype_(transform.dtype), layout_(transform.layout), channels_(transform.channels()) {
  for (std::size_t channel = 0; channel < channels_; ++channel) {
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
  const Places places = places_of(layout_, width, height, channels_);
  switch (dtype_) {
    case DType::uint8:
      if (pixels.pixel_bytes == channels_ && (layout_ == PixelLayout::nhwc || channels_ == 1)) {
        return copy_rows(pixels, places.row, out);
      }
      return convert(pixels, bytes_, channels_, places, out);
    case DType::float16:
    case DType::bfloat16:
      return convert(pixels, halves_, channels_, places, out);
    case DType::float32:
      return convert(pixels, floats_, channels_, places, out);
    case DType::uint16:
      return copy_rows(pixels, places.row * 2, out);
  }
}

std::vector<std::byte> conversion_table(Transform transform) {
  const std::uint32_t channels = transform.channels();
  std::vector<std::uint8_t> all;
  for (int value = 0; value < 256; ++value) all.insert(all.end(), channels, static_cast<std::uint8_t>(value));
  transform.layout = PixelLayout::nchw;
  std::vector<std::byte> table(std::size_t{channels} * 256 * dtype_bytes(transform.dtype));
  const PixelView pixels{.rgb = all.data(), .stride = all.size(), .width = 256, .height = 1, .pixel_bytes = channels};
  PixelConverter(transform).run(pixels, 256, 1, table.data());
  return table;
}

void erase_converted(const step::Erase& erase, const Transform& transform, MutableBytes out) {
  switch (transform.dtype) {
    case DType::uint8:
      return fill_converted<std::uint8_t>(erase, transform, out.data(),
                                          [](float value) { return static_cast<std::uint8_t>(value); });
    case DType::float16:
      return fill_converted<std::uint16_t>(erase, transform, out.data(), to_float16);
    case DType::bfloat16:
      return fill_converted<std::uint16_t>(erase, transform, out.data(), to_bfloat16);
    case DType::uint16:
      return;  // such lists do not erase
    case DType::float32:
      return fill_converted<float>(erase, transform, out.data(), std::identity());
  }
}

}  // namespace bale::transform_detail
