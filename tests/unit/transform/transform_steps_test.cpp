// Every step on small pictures, with hashes that must be the same on every CPU and with every compiler.
// tests/python/transforms/test_transform_steps.py compares the pixels with those of Pillow and torchvision.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/geometry/warp_matrices.hpp"
#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/random/portable_math.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"

using namespace bale;
using namespace bale::transform_detail;

namespace {

/// Noise, and pixels that change slowly.
Picture picture_of(std::uint32_t width, std::uint32_t height, std::uint32_t channels = 3) {
  Picture picture{.width = width, .height = height, .channels = channels};
  std::uint32_t state = width * 65537 + height;
  for (std::size_t i = 0; i < picture.size(); ++i) {
    state = state * 1664525 + 1013904223;
    picture.pixels.push_back(static_cast<std::uint8_t>(i % 2 == 0 ? state >> 24 : i * 255 / picture.size()));
  }
  return picture;
}

/// FNV-1a of size and pixels.
std::uint64_t hash_of(const Picture& picture) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3; };
  add(picture.width);
  add(picture.height);
  for (std::size_t i = 0; i < picture.size(); ++i) add(picture.pixels[i]);
  return hash;
}

Steps all_steps() {
  Steps steps{step::Crop{-2, 3, 17, 19},
              step::HorizontalFlip{},
              step::VerticalFlip{},
              step::Brightness{1.3},
              step::Contrast{0.6},
              step::Saturation{1.9},
              step::Sharpness{2.5},
              step::Hue{-0.2},
              step::Grayscale{},
              step::Invert{},
              step::Solarize{100},
              step::SolarizeAdd{60, 128},
              step::Posterize{3},
              step::Equalize{},
              step::AutoContrast{},
              step::PermuteChannels{{1, 2, 0}},
              step::GaussianBlur{5, 3, 1.1, 0.7},
              step::PillowGaussianBlur{1.7},
              step::PillowGaussianBlur{40},
              step::Erase{.width = 1, .height = 1, .value = {1, 2, 3}, .converted = false}};
  for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric}) {
    steps.push_back(step::Pad{3, 70, 41, 1, mode, {9, 8, 7}});
  }
  for (const Filter filter :
       {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::box, Filter::hamming, Filter::lanczos}) {
    steps.push_back(step::Resize{.width = 23, .height = 61, .filter = filter});
  }
  for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear, Sampling::bicubic}) {
    for (const double angle : {90.0, 180.0, 270.0, 31.4}) {
      steps.push_back(step::Rotate{.angle = angle, .sampling = sampling, .expand = true});
    }
    steps.push_back(step::Affine{{0.9, 0.2, -1, -0.3, 1.1, 2}, sampling, {5, 6, 7}});
    steps.push_back(step::Affine{{0.7, 0, 0.4, 0, 1.7, -3}, sampling, {}});
    steps.push_back(step::Perspective{{0.9, 0.1, 1, -0.1, 1.1, 0, 1e-3, 2e-3}, sampling, {}});
  }
  steps.push_back(step::Mixture{
      .share = 0.4F, .weights = {0.35F, 0.25F}, .chains = {{step::Invert{}}, {step::Equalize{}, step::Posterize{4}}}});
  return steps;
}

/// The hash of what every step makes of some pictures and masks, whose sizes are checked.
std::uint64_t hash_of_all_steps() {
  StepRunner runner;
  std::uint64_t total = 0;
  for (const std::uint32_t channels : {3U, 1U}) {
    for (const auto& [width, height] : {std::pair{1U, 1U}, {1U, 9U}, {31U, 2U}, {37U, 29U}, {130U, 71U}}) {
      for (const Step& step : all_steps()) {
        Picture picture = picture_of(width, height, channels);
        const auto size = size_after(step, width, height);
        runner.run({&step, 1}, picture);
        REQUIRE(std::pair{picture.width, picture.height} == size);
        total = total * 31 + hash_of(picture);
      }
    }
  }
  return total;
}

}  // namespace

TEST_CASE("steps: pixels are the same on every CPU, and sizes those that size_after() says") {
  const auto restore = [] { limit_simd(""); };
  for (const std::string& target : simd_targets()) {
    INFO(target);
    limit_simd(target);
    const std::uint64_t hash = hash_of_all_steps();
    restore();
    CHECK(hash == 0xa7839c9d90590e04);
  }
}

TEST_CASE("steps: lists are the same as one step after the other") {
  StepRunner runner;
  const Steps steps = all_steps();
  for (std::size_t first = 3; first + 12 < steps.size(); first += 2) {
    const std::span<const Step> some(steps.data() + first, 12);
    Picture together = picture_of(47, 33);
    Picture apart = together;
    runner.run(some, together);
    for (const Step& step : some) runner.run({&step, 1}, apart);
    REQUIRE(hash_of(together) == hash_of(apart));
  }
}

TEST_CASE("steps: random lists of changes of color are the same as one after the other, also in place") {
  Steps colors{step::Brightness{1.3}, step::Brightness{0.62},
               step::Contrast{0.6},   step::Contrast{1.41},
               step::Saturation{1.9}, step::Hue{-0.2},
               step::Grayscale{},     step::Invert{},
               step::Solarize{100},   step::SolarizeAdd{60, 128},
               step::Posterize{3},    step::Saturation{0.753},
               step::Hue{0.31},       step::Equalize{},
               step::AutoContrast{}};
  StepRunner runner;
  std::mt19937 random(3);
  for (const std::string& target : simd_targets()) {
    INFO(target);
    limit_simd(target);
    for (int i = 0; i < test::by_tier(60, 2000); ++i) {
      std::shuffle(colors.begin(), colors.end(), random);
      const std::span<const Step> some(colors.data(), 1 + random() % 7);
      REQUIRE(StepRunner::takes_in_place(some));
      Picture together = picture_of(1 + random() % 60, 1 + random() % 40);
      Picture apart = together;
      Picture in_place = together;
      runner.run(some, together);
      for (const Step& step : some) runner.run({&step, 1}, apart);
      runner.run_in_place(some, in_place.pixels.data(), std::size_t{in_place.width} * in_place.height);
      CHECK(hash_of(together) == hash_of(apart));
      CHECK(hash_of(in_place) == hash_of(apart));
    }
  }
  limit_simd("");
  CHECK_FALSE(StepRunner::takes_in_place(std::vector<Step>{step::Invert{}, step::VerticalFlip{}}));
}

TEST_CASE("steps: JSON gives the same steps again") {
  const Steps steps = all_steps();
  CHECK(parse_steps(steps_json(steps)) == steps);
  CHECK(steps_json({step::Hue{0.1}}) == R"([{"name":"Hue","turn":0.1}])");
}

TEST_CASE("steps: an error leaves nothing behind for the next picture") {
  StepRunner runner;
  // Invert still waits for its run to end when a change of color after it fails.
  for (const Step& wrong : Steps{step::Crop{0, 0, 0, 1}, step::Posterize{9}}) {
    Picture picture = picture_of(5, 5);
    CHECK_THROWS_AS(runner.run(Steps{step::Invert{}, wrong}, picture), Error);
    Picture again = picture_of(5, 5);
    runner.run({}, again);
    CHECK(hash_of(again) == hash_of(picture_of(5, 5)));
  }
}

TEST_CASE("portable_math: sine, cosine and tangent are those of the math library") {
  int different = 0;
  constexpr int k_count = 20000;
  for (int i = 0; i < k_count; ++i) {
    const double x = (i - k_count / 2) * 0.00137;
    different += portable_sin(x) != std::sin(x);
    different += portable_cos(x) != std::cos(x);
    different += portable_tan(x) != std::tan(x);
    REQUIRE(std::abs(portable_sin(x) - std::sin(x)) < 3e-16);
    REQUIRE(std::abs(portable_tan(x) - std::tan(x)) <= std::abs(std::tan(x)) * 3e-16);
  }
  CHECK(different < k_count / 100);  // which library is right in these cases depends on the library
}

TEST_CASE("affine matrix: torchvision's _get_inverse_affine_matrix([12, 7.5], 33, [3, -2], 1.25, [10, -4])") {
  const auto matrix = inverse_affine_matrix({12, 7.5}, {33, {3, -2}, 1.25, {10, -4}});
  const std::array<double, 6> expected{0x1.2bf2b80c92a1ep-1,  0x1.18e7c017c83fap-1, 0x1.8f325b026c980p-3,
                                       -0x1.ee35f305eb8b5p-2, 0x1.47eb7ea70a35fp-1, 0x1.66f056615ae6cp+3};
  CHECK(matrix == expected);
}
