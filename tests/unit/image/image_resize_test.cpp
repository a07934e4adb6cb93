#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

bale::Image flat(std::uint32_t width, std::uint32_t height, std::uint8_t value) {
  return {.width = width, .height = height, .rgb = std::vector<std::uint8_t>(std::size_t{width} * height * 3, value)};
}

/// Pixel (x, y) has red x, green y.
bale::Image coordinates(std::uint32_t width, std::uint32_t height) {
  bale::Image image = flat(width, height, 0);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      image.rgb[(std::size_t{y} * width + x) * 3] = static_cast<std::uint8_t>(x);
      image.rgb[(std::size_t{y} * width + x) * 3 + 1] = static_cast<std::uint8_t>(y);
    }
  }
  return image;
}

}  // namespace

TEST_CASE("A constant image stays constant at every size") {
  for (const std::uint8_t value : {0, 1, 127, 254, 255}) {
    for (const auto& [width, height] : {std::pair{1u, 1u}, {1u, 90u}, {90u, 1u}, {7u, 5u}, {100u, 80u}}) {
      const bale::Image resized = bale::resize_image(flat(31, 23, value), width, height);
      CHECK(resized.width == width);
      CHECK(resized.height == height);
      CHECK(resized.rgb == flat(width, height, value).rgb);
    }
  }
}

TEST_CASE("The same size is the same image") {
  const bale::Image image = coordinates(31, 23);
  CHECK(bale::resize_image(image, 31, 23).rgb == image.rgb);
}

TEST_CASE("Weights are the triangle's") {
  // Two pixels from a row of four reach three each, at weights 3 : 3 : 1; (75 + 50) / 1.75 rounds to 71.
  bale::Image row = flat(4, 1, 0);
  row.rgb = {0, 0, 0, 100, 100, 100, 200, 200, 200, 40, 40, 40};
  const bale::Image half = bale::resize_image(row, 2, 1);
  CHECK(half.rgb == std::vector<std::uint8_t>{71, 71, 71, 117, 117, 117});
  // Twice as many from two: at a quarter and three quarters between the centers.
  bale::Image pair = flat(2, 1, 0);
  std::fill(pair.rgb.begin() + 3, pair.rgb.end(), std::uint8_t{100});
  CHECK(bale::resize_image(pair, 4, 1).rgb ==
        std::vector<std::uint8_t>{0, 0, 0, 25, 25, 25, 75, 75, 75, 100, 100, 100});
}

TEST_CASE("The crop is central, ties to even") {
  // Short side already right: nothing is resized, so the pixels tell where the crop was taken.
  const auto left = [](std::uint32_t width) {
    return int{bale::resize_and_center_crop(coordinates(width, 10), 10).rgb[0]};
  };
  CHECK(left(10) == 0);
  CHECK(left(11) == 0);  // round(0.5)
  CHECK(left(12) == 1);
  CHECK(left(13) == 2);  // round(1.5)
  CHECK(left(15) == 2);  // round(2.5)
  const bale::Image tall = bale::resize_and_center_crop(coordinates(10, 21), 10);
  CHECK(tall.width == 10);
  CHECK(tall.height == 10);
  CHECK(int{tall.rgb[1]} == 6);  // round(5.5)
}

TEST_CASE("A crop equals the same part of the whole resize") {
  for (const auto& [width, height] : {std::pair{100u, 37u}, {37u, 100u}, {250u, 255u}, {40u, 200u}}) {
    const bale::Image image = coordinates(width, height);
    const std::uint32_t size = 32;
    const bool wide = width >= height;
    const std::uint32_t longer = size * std::max(width, height) / std::min(width, height);
    const bale::Image whole = bale::resize_image(image, wide ? longer : size, wide ? size : longer);
    const bale::Image crop = bale::resize_and_center_crop(image, size);
    const std::uint32_t rest = longer - size;
    const std::uint32_t offset = rest / 2 + (rest % 2 != 0 && rest / 2 % 2 != 0 ? 1 : 0);
    for (std::uint32_t y = 0; y < size; ++y) {
      const std::size_t from = (std::size_t{y + (wide ? 0 : offset)} * whole.width + (wide ? offset : 0)) * 3;
      CHECK(std::equal(crop.rgb.begin() + y * size * 3, crop.rgb.begin() + (y + 1) * size * 3,
                       whole.rgb.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
}

TEST_CASE("A long thin image costs no more than its crop") {
  // The whole resize would be 224 x 14,672,000 pixels.
  const bale::Image crop = bale::resize_and_center_crop(flat(65500, 1, 9), 224);
  CHECK(crop.rgb == flat(224, 224, 9).rgb);
  CHECK_THROWS_AS(bale::resize_and_center_crop(flat(10'000'000, 1, 9), 224), bale::Error);
}

TEST_CASE("Sizes that make no sense are refused") {
  const bale::Image image = flat(4, 4, 1);
  CHECK_THROWS_AS(bale::resize_image(image, 0, 4), bale::Error);
  CHECK_THROWS_AS(bale::resize_image(image, 4, 0), bale::Error);
  CHECK_THROWS_AS(bale::resize_image(image, 0xFFFFFFFFu, 0xFFFFFFFFu), bale::Error);
  CHECK_THROWS_AS(bale::resize_and_center_crop(image, 0), bale::Error);
  CHECK_THROWS_AS(bale::resize_image({}, 4, 4), bale::Error);
  CHECK_THROWS_AS(bale::resize_image({.width = 4, .height = 4, .rgb = {1}}, 2, 2), bale::Error);
}
