#include "bale/loader/transform/pixels/convert.hpp"

#include <cstring>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/codec/half.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::DType;
using bale::PixelLayout;
using bale::to_bfloat16;
using bale::to_float16;
using bale::transform_detail::PixelConverter;

constexpr std::uint32_t k_width = 5;
constexpr std::uint32_t k_height = 3;

/// 2 x 2 pixels 1 to 12, converted into the top left of 5 x 3; `Value`s from an address without alignment.
template <typename Value>
std::vector<Value> converted(DType dtype, PixelLayout layout, bool normalize = false) {
  bale::Transform transform = bale::padded_transform(k_height, k_width);
  transform.dtype = dtype;
  transform.layout = layout;
  transform.normalize = normalize;
  const std::vector<std::uint8_t> pixels = {1, 2, 3, 4, 5, 6, 99, 7, 8, 9, 10, 11, 12, 99};
  std::vector<std::byte> out(1 + transform.image_bytes());
  PixelConverter(transform).run({pixels.data(), 7, 2, 2}, k_width, k_height, out.data() + 1);
  std::vector<Value> values(transform.image_bytes() / sizeof(Value));
  std::memcpy(values.data(), out.data() + 1, transform.image_bytes());
  return values;
}

/// The same by the plainest means: value(channel, pixel) at its place, zero elsewhere.
template <typename Value, typename Convert>
std::vector<Value> expected(PixelLayout layout, const Convert& value) {
  std::vector<Value> values(std::size_t{k_width} * k_height * 3);
  for (std::size_t y = 0; y < 2; ++y) {
    for (std::size_t x = 0; x < 2; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t at =
            layout == PixelLayout::nhwc ? (y * k_width + x) * 3 + c : (c * k_height + y) * k_width + x;
        values[at] = value(c, static_cast<std::uint8_t>(1 + (y * 2 + x) * 3 + c));
      }
    }
  }
  return values;
}

}  // namespace

TEST_CASE("Every type and layout has its values in their places") {
  const bale::Transform usual;
  const auto unit = [](std::size_t, std::uint8_t v) { return static_cast<float>(v) / 255.0F; };
  const auto normal = [&](std::size_t c, std::uint8_t v) { return (unit(c, v) - usual.mean[c]) / usual.stddev[c]; };
  for (const PixelLayout layout : {PixelLayout::nhwc, PixelLayout::nchw}) {
    CHECK(converted<std::uint8_t>(DType::uint8, layout) ==
          expected<std::uint8_t>(layout, [](std::size_t, std::uint8_t v) { return v; }));
    CHECK(converted<float>(DType::float32, layout) == expected<float>(layout, unit));
    CHECK(converted<float>(DType::float32, layout, true) == expected<float>(layout, normal));
    CHECK(converted<std::uint16_t>(DType::float16, layout, true) ==
          expected<std::uint16_t>(layout, [&](std::size_t c, std::uint8_t v) { return to_float16(normal(c, v)); }));
    CHECK(converted<std::uint16_t>(DType::bfloat16, layout, true) ==
          expected<std::uint16_t>(layout, [&](std::size_t c, std::uint8_t v) { return to_bfloat16(normal(c, v)); }));
  }
}

TEST_CASE("Halves are rounded to the nearest even") {
  CHECK(to_float16(1.0F) == 0x3C00);
  CHECK(to_float16(-2.0F) == 0xC000);
  CHECK(to_float16(0x1.002p0F) == 0x3C00);  // a tie
  CHECK(to_float16(0x1.006p0F) == 0x3C02);  // a tie
  CHECK(to_float16(0x1.0021p0F) == 0x3C01);
  CHECK(to_float16(65504.0F) == 0x7BFF);
  CHECK(to_float16(65519.0F) == 0x7BFF);
  CHECK(to_float16(65520.0F) == 0x7C00);
  CHECK(to_float16(0x1p-24F) == 0x0001);
  CHECK(to_float16(0x1p-25F) == 0x0000);
  CHECK(to_float16(-0x1.8p-24F) == 0x8002);
  CHECK(to_float16(0x1.ff8p-15F) == 0x03FF);
  CHECK(to_bfloat16(1.0F) == 0x3F80);
  CHECK(to_bfloat16(0x1.01p0F) == 0x3F80);  // a tie
  CHECK(to_bfloat16(0x1.03p0F) == 0x3F82);  // a tie
  CHECK(to_bfloat16(0x1.0101p0F) == 0x3F81);
}
