#include "bale/formats/image/color/color.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <hwy/targets.h>

#include "bale/formats/image/color/color_change.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/random_bytes.hpp"
#include "bale/tests/support/tier.hpp"

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

/// Calls check() with one instruction set after the other.
template <typename Check>
void on_each_target(const Check& check) {
  use_targets(0);
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    use_targets(left & -left);
    INFO(hwy::TargetName(left & -left));
    check();
  }
  use_targets(0);
}

/// Each of the 2^24 colors once. Under AddressSanitizer every fifth.
Pixels all_colors() {
  const auto step = bale::test::by_tier<std::uint32_t>(1, 1, 5);
  Pixels colors;
  colors.reserve((3U << 24) / step + 3);
  for (std::uint32_t color = 0; color < 1 << 24; color += step) {
    for (std::uint32_t channel = 0; channel < 3; ++channel) {
      colors.push_back(static_cast<std::uint8_t>(color >> (8 * channel)));
    }
  }
  return colors;
}

std::size_t num_different(const Pixels& a, const Pixels& b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i] ? 1 : 0;
  return different;
}

/// One pixel as Pillow does it: to 8-bit HSV, in its mixture of float and double, and back.
void turn_by_definition(std::uint8_t* rgb, std::uint8_t steps) {
  const int high = std::max({rgb[0], rgb[1], rgb[2]});
  const int low = std::min({rgb[0], rgb[1], rgb[2]});
  if (high == low) return;
  const auto range = static_cast<float>(high - low);
  const auto distance = [&](int channel) { return static_cast<float>(high - rgb[channel]) / range; };
  const int highest = rgb[0] == high ? 0 : rgb[1] == high ? 1 : 2;
  const auto sixths = static_cast<float>(2.0 * highest + distance((highest + 2) % 3) - distance((highest + 1) % 3));
  const auto part = static_cast<float>(std::fmod(sixths / 6.0 + 1.0, 1.0));
  const auto hue = static_cast<std::uint8_t>(static_cast<int>(part * 255.0) + steps);
  const auto saturation = static_cast<float>(static_cast<int>(range / static_cast<float>(high) * 255.0) / 255.0);
  const int sector = hue * 6 / 255;
  const auto fraction = static_cast<float>(hue * 6.0 / 255.0 - sector);
  const auto level = [&](auto share) {
    return static_cast<std::uint8_t>(std::lround(high * (1.0 - saturation * share)));
  };
  const auto top = static_cast<std::uint8_t>(high);
  const std::uint8_t bottom = level(1.0F);
  const std::uint8_t middle = sector % 2 == 1 ? level(fraction) : level(1.0 - fraction);
  const std::uint8_t results[6][3] = {{top, middle, bottom}, {middle, top, bottom}, {bottom, top, middle},
                                      {bottom, middle, top}, {middle, bottom, top}, {top, bottom, middle}};
  std::copy_n(results[sector % 6], 3, rgb);
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
  const Pixels colors = all_colors();
  Pixels gray(colors.size() / 3);
  on_each_target([&] {
    bale::gray_of(colors.data(), gray.size(), gray.data());
    std::uint32_t wrong = 0;
    for (std::size_t i = 0; i < gray.size(); ++i) {
      const std::uint8_t* color = &colors[3 * i];
      if (gray[i] != (color[0] * 19595 + color[1] * 38470 + color[2] * 7471 + 0x8000) >> 16) ++wrong;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("The hue of every color is turned as Pillow does it, on every instruction set") {
  const Pixels colors = all_colors();
  for (int turn = 0; turn < bale::test::by_tier(1, 16); ++turn) {
    const double amount = (turn * 53 % 255 - 127) / 255.0;
    Pixels expected = colors;
    for (std::size_t i = 0; i < expected.size(); i += 3) {
      turn_by_definition(expected.data() + i, static_cast<std::uint8_t>(static_cast<int>(amount * 255)));
    }
    on_each_target([&] { CHECK(num_different(adjusted(colors, bale::adjust_hue, amount), expected) == 0); });
  }
}

TEST_CASE("Every turn of the hue is Pillow's for random colors") {
  const Pixels pixels = random_image(1 << 12, 3).rgb;
  for (int steps = 0; steps < 256; ++steps) {
    const bale::image_detail::ColorChange change = bale::image_detail::HueChange{static_cast<std::uint8_t>(steps)};
    Pixels expected = pixels;
    for (std::size_t i = 0; i < expected.size(); i += 3) {
      turn_by_definition(expected.data() + i, static_cast<std::uint8_t>(steps));
    }
    on_each_target([&] {
      Pixels turned = pixels;
      bale::image_detail::change_colors({&change, 1}, turned.data(), turned.size() / 3);
      CHECK(num_different(turned, expected) == 0);
    });
  }
}

/// Factors that are drawn, some that people write, and some whose products are close to integers.
std::vector<double> many_factors() {
  std::vector<double> factors{-1e30, -3e6, -2.0, 0.01, 0.999, 1.0, 1.001, 1.9999, 3.9999, 4.0, 100.0, 3e6, 1e30};
  for (int tenths = 1; tenths < 20; ++tenths) factors.push_back(tenths / 10.0);
  std::mt19937 random(5);
  for (int i = 0; i < bale::test::by_tier(10, 2000); ++i) {
    factors.push_back(random() / 2147483648.0);
    const auto ratio = static_cast<float>(random() % 300) / static_cast<float>(1 + random() % 255);
    factors.push_back(std::nextafter(ratio, i % 2 == 0 ? 0.0F : 9.0F));
  }
  return factors;
}

TEST_CASE("Blending is Pillow's for every pair of levels, and however large the factor is") {
  // Gray pixels of each level, each followed by a pixel whose red is each level: its gray level is what it is blended
  // with.
  Pixels pixels;
  for (int gray = 0; gray < 256; ++gray) {
    for (int red = 0; red < 256; ++red) {
      pixels.insert(pixels.end(), {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(gray), 0});
    }
  }
  Pixels levels(pixels.size() / 3);
  bale::gray_of(pixels.data(), levels.size(), levels.data());
  for (const double amount : many_factors()) {
    INFO(amount);
    const auto factor = static_cast<float>(amount);
    const auto blended = [&](int from, int to) {
      const float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
      return mixed <= 0 ? 0 : mixed >= 255 ? 255 : static_cast<int>(mixed);
    };
    Pixels expected(pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      expected[i] = static_cast<std::uint8_t>(blended(levels[i / 3], pixels[i]));
    }
    on_each_target([&] { CHECK(num_different(adjusted(pixels, bale::adjust_saturation, amount), expected) == 0); });
  }
}

TEST_CASE("Blending with a level is Pillow's for every value, and two of them are one after the other") {
  using bale::image_detail::PointChange;
  Pixels values;
  for (int value = 0; value < 256; ++value) values.insert(values.end(), 3, static_cast<std::uint8_t>(value));
  const auto changed = [&](const PointChange& change, Pixels pixels) {
    const bale::image_detail::ColorChange one = change;
    bale::image_detail::change_colors({&one, 1}, pixels.data(), pixels.size() / 3);
    return pixels;
  };
  std::mt19937 random(6);
  for (const double factor : many_factors()) {
    const auto level = static_cast<std::uint8_t>(random() % 256);
    INFO(factor << " " << int{level});
    const PointChange change = bale::image_detail::blend_change(level, factor);
    const PointChange before = bale::image_detail::blend_change(static_cast<std::uint8_t>(random() % 256), 1.37);
    const auto blended = [&](int value) {
      const float mixed = static_cast<float>(level) + static_cast<float>(factor) * static_cast<float>(value - level);
      return static_cast<std::uint8_t>(mixed <= 0 ? 0 : mixed >= 255 ? 255 : static_cast<int>(mixed));
    };
    CHECK(change.num_lines == (0 <= factor && factor < 4 ? 1 : 0));
    on_each_target([&] {
      const Pixels once = changed(change, values);
      for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(once[i] == blended(values[i]));
      CHECK(changed(composed(before, change), values) == changed(change, changed(before, values)));
    });
  }
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
  for (const std::uint32_t num_pixels :
       {1, 2, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 300, 511, 512, 513, 1023, 1600}) {
    const Pixels pixels = random_image(num_pixels, 1).rgb;
    use_targets(0);
    const Pixels expected = all_results(pixels);
    on_each_target([&] { CHECK(all_results(pixels) == expected); });
  }
}

TEST_CASE("Changes at once are the same as one after the other, and so is the mean gray level") {
  using namespace bale::image_detail;
  const std::vector<ColorChange> changes{
      blend_change(90, 1.31), saturation_change(1.253),
      hue_change(0.07),       PointChange{.tables = {invert_table(), posterize_table(3), identity_table()}},
      saturation_change(0.5), GrayChange{},
      blend_change(0, 0.7)};
  for (const std::uint32_t num_pixels : {1, 63, 511, 512, 513, 1600}) {
    const Pixels pixels = random_image(num_pixels, 1, 2).rgb;
    for (std::size_t first = 0; first < changes.size(); ++first) {
      const std::span<const ColorChange> some = std::span(changes).subspan(first);
      on_each_target([&] {
        Pixels apart = pixels;
        for (const ColorChange& change : some) change_colors({&change, 1}, apart.data(), num_pixels);
        Pixels together = pixels;
        change_colors(some, together.data(), num_pixels);
        CHECK(together == apart);
        Pixels averaged = pixels;
        const std::uint8_t mean = mean_gray_after(some, averaged.data(), num_pixels);
        CHECK(averaged == apart);
        CHECK(mean == bale::mean_gray(apart.data(), num_pixels));
        std::uint64_t sum = 0;
        for (const std::uint8_t level : gray_of(apart)) sum += level;
        CHECK(mean == (2 * (sum / 3) + num_pixels) / (2 * num_pixels));
      });
    }
  }
}
