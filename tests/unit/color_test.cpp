#include "bale/formats/image/color.hpp"

#include <algorithm>
#include <vector>

#include <hwy/targets.h>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/random_bytes.hpp"

namespace {

using bale::test::random_image;
using Pixels = std::vector<std::uint8_t>;

template <typename Adjust>
Pixels adjusted(Pixels pixels, Adjust adjust, double amount) {
  adjust(pixels.data(), pixels.size() / 3, amount);
  return pixels;
}

Pixels gray_of(Pixels pixels) {
  bale::make_gray(pixels.data(), pixels.size() / 3);
  return pixels;
}

/// Everything this file can do to `pixels`, one result after another.
Pixels all_results(const Pixels& pixels) {
  Pixels all = gray_of(pixels);
  for (const double amount : {0.0, 0.3, 1.0, 1.4, 7.5}) {
    for (const auto adjust : {bale::adjust_brightness, bale::adjust_contrast, bale::adjust_saturation}) {
      const Pixels result = adjusted(pixels, adjust, amount);
      all.insert(all.end(), result.begin(), result.end());
    }
  }
  for (const double turn : {-0.5, -0.1, 0.0, 0.3}) {
    const Pixels result = adjusted(pixels, bale::adjust_hue, turn);
    all.insert(all.end(), result.begin(), result.end());
  }
  return all;
}

void use_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace

TEST_CASE("Factor 1 changes nothing and factor 0 leaves what is blended with") {
  const Pixels pixels = random_image(1000, 1).rgb;
  CHECK(adjusted(pixels, bale::adjust_brightness, 1) == pixels);
  CHECK(adjusted(pixels, bale::adjust_contrast, 1) == pixels);
  CHECK(adjusted(pixels, bale::adjust_saturation, 1) == pixels);
  CHECK(adjusted(pixels, bale::adjust_brightness, 0) == Pixels(3000, 0));
  CHECK(adjusted(pixels, bale::adjust_saturation, 0) == gray_of(pixels));
  const Pixels flat = adjusted(pixels, bale::adjust_contrast, 0);
  CHECK(std::all_of(flat.begin(), flat.end(), [&](std::uint8_t value) { return value == flat[0]; }));
}

TEST_CASE("Single pixels come out as Pillow has them") {
  // Values from Pillow 13: ImageEnhance and HSV.
  CHECK(gray_of({255, 0, 0, 0, 255, 0, 0, 0, 255}) == Pixels{76, 76, 76, 150, 150, 150, 29, 29, 29});
  CHECK(adjusted({200, 100, 3}, bale::adjust_brightness, 0.5) == Pixels{100, 50, 1});
  CHECK(adjusted({200, 100, 3}, bale::adjust_brightness, 1.5) == Pixels{255, 150, 4});
  CHECK(adjusted({200, 100, 3}, bale::adjust_saturation, 2.0) == Pixels{255, 81, 0});
  CHECK(adjusted({200, 100, 3, 0, 10, 20}, bale::adjust_contrast, 0.5) == Pixels{132, 82, 33, 32, 37, 42});
  CHECK(adjusted({200, 100, 3}, bale::adjust_hue, 0.25) == Pixels{12, 200, 3});
  CHECK(adjusted({200, 100, 3}, bale::adjust_hue, -0.25) == Pixels{200, 3, 198});
  CHECK(adjusted({90, 90, 90}, bale::adjust_hue, 0.4) == Pixels{90, 90, 90});
}

TEST_CASE("The gray level of every color is Pillow's, on every instruction set") {
  constexpr std::uint32_t k_colors = 1 << 24;
  Pixels colors(std::size_t{3} * k_colors);
  for (std::uint32_t color = 0; color < k_colors; ++color) {
    for (std::uint32_t channel = 0; channel < 3; ++channel) {
      colors[3 * color + channel] = static_cast<std::uint8_t>(color >> (8 * channel));
    }
  }
  use_targets(0);
  Pixels gray(k_colors);
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    use_targets(left & -left);
    bale::gray_of(colors.data(), k_colors, gray.data());
    std::uint32_t wrong = 0;
    for (std::uint32_t color = 0; color < k_colors; ++color) {
      const std::uint32_t red = color & 255;
      const std::uint32_t green = color >> 8 & 255;
      const std::uint32_t blue = color >> 16;
      if (gray[color] != (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16) ++wrong;
    }
    CHECK(wrong == 0);
  }
  use_targets(0);
}

TEST_CASE("Blending is Pillow's for every pair of levels, and however large the factor is") {
  // Gray pixels of each level, each followed by a pixel whose red is each level: its gray level is what it is blended with.
  Pixels pixels;
  for (int gray = 0; gray < 256; ++gray) {
    for (int red = 0; red < 256; ++red) {
      pixels.insert(pixels.end(), {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(gray), 0});
    }
  }
  Pixels levels(pixels.size() / 3);
  bale::gray_of(pixels.data(), levels.size(), levels.data());
  for (const double amount : {-1e30, -3e6, -2.0, 0.01, 0.6, 0.999, 1.0, 1.001, 1.4, 1.9999, 100.0, 3e6, 1e30}) {
    const auto factor = static_cast<float>(amount);
    const auto blended = [&](int from, int to) {
      const float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
      return mixed <= 0 ? 0 : mixed >= 255 ? 255 : static_cast<int>(mixed);
    };
    use_targets(0);
    const std::int64_t supported = hwy::SupportedTargets();
    for (std::int64_t left = supported; left != 0; left &= left - 1) {
      use_targets(left & -left);
      const Pixels saturated = adjusted(pixels, bale::adjust_saturation, amount);
      const Pixels brighter = adjusted(pixels, bale::adjust_brightness, amount);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (saturated[i] != blended(levels[i / 3], pixels[i])) ++wrong;
        if (brighter[i] != blended(0, pixels[i])) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
  use_targets(0);
}

TEST_CASE("No pixels are no trouble") {
  std::uint8_t guard = 77;
  for (const auto adjust :
       {bale::adjust_brightness, bale::adjust_contrast, bale::adjust_saturation, bale::adjust_hue}) {
    adjust(&guard, 0, 0.5);
  }
  bale::make_gray(&guard, 0);
  CHECK(guard == 77);
}

TEST_CASE("Every instruction set gives the same pixels for every length") {
  for (const std::uint32_t num_pixels : {1, 2, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 300, 1023}) {
    const Pixels pixels = random_image(num_pixels, 1).rgb;
    use_targets(0);
    const Pixels expected = all_results(pixels);
    const std::int64_t supported = hwy::SupportedTargets();
    for (std::int64_t left = supported; left != 0; left &= left - 1) {
      use_targets(left & -left);
      CHECK(all_results(pixels) == expected);
    }
    use_targets(0);
  }
}
