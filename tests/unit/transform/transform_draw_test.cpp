#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/augment_draw.hpp"
#include "bale/loader/transform/random/portable_math.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::AugmentDraw;
using bale::DrawKey;
using bale::Transform;

Transform jittered() {
  Transform transform = bale::train_transform();
  transform.jitter = bale::ColorJitter::symmetric(0.4, 0.4, 0.4, 0.1);
  transform.gray_probability = 0.2;
  return transform;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// Distance in units of the last place.
double ulps(double x, double exact) {
  return std::abs(x - exact) / (std::nextafter(std::abs(exact), INFINITY) - std::abs(exact));
}

}  // namespace

TEST_CASE("The uniform draw has golden values") {
  bale::KeyedRandom random{1, 2, 3};
  CHECK(bits(random.uniform()) == 0x3FDC3B6892E8532C);
  CHECK(bits(random.uniform()) == 0x3FD94925FB5679C6);
  bale::KeyedRandom many{4};
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = many.uniform();
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
  }
  CHECK(std::abs(sum / 100000 - 0.5) < 0.005);
}

TEST_CASE("Draws have golden values") {
  const Transform transform = jittered();
  const AugmentDraw first = bale::draw_augment(transform, {.seed = 1, .epoch = 2, .sample = 3, .copy = 0}, 500, 375);
  CHECK(first.crop == bale::Region{1, 0, 448, 361});
  CHECK(first.flip == false);
  CHECK(first.gray == false);
  using Step = AugmentDraw::Step;
  CHECK(first.order == std::array{Step::brightness, Step::saturation, Step::contrast, Step::hue});
  CHECK(bits(first.brightness) == 0x3FF48D2EF2660C8B);
  CHECK(bits(first.contrast) == 0x3FF134371F9CFDF1);
  CHECK(bits(first.saturation) == 0x3FF1D6AB33A59BFE);
  CHECK(bits(first.hue) == 0x3FAA0AD5328545EC);
  // Crops of many sizes and keys, in one number.
  std::uint64_t digest = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const auto width = static_cast<std::uint32_t>(1 + sample * 37 % 900);
    const auto height = static_cast<std::uint32_t>(1 + sample * 53 % 700);
    const AugmentDraw draw = bale::draw_augment(transform, {.seed = 5, .epoch = 6, .sample = sample}, width, height);
    for (const std::uint64_t part :
         {std::uint64_t{draw.crop.x}, std::uint64_t{draw.crop.y}, std::uint64_t{draw.crop.width},
          std::uint64_t{draw.crop.height}, std::uint64_t{draw.flip}, std::uint64_t{draw.gray}, bits(draw.hue)}) {
      digest = bale::mix64(digest + part + 1);
    }
  }
  CHECK(digest == 0xD5DA3B27C7DAB7D9);
}

TEST_CASE("Every part of the key matters and nothing else does") {
  const Transform transform = jittered();
  const DrawKey key{.seed = 1, .epoch = 2, .sample = 3, .copy = 4};
  std::set<std::uint64_t> seen;
  for (const DrawKey& other :
       {key, DrawKey{2, 2, 3, 4}, DrawKey{1, 3, 3, 4}, DrawKey{1, 2, 4, 4}, DrawKey{1, 2, 3, 5}}) {
    seen.insert(bits(bale::draw_augment(transform, other, 500, 375).hue));
  }
  CHECK(seen.size() == 5);
  CHECK(bale::draw_augment(transform, key, 500, 375).hue == bale::draw_augment(transform, key, 10, 900).hue);
}

TEST_CASE("Switching an option on or off leaves the other draws as they are") {
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const DrawKey key{.seed = 9, .sample = sample};
    const AugmentDraw all = bale::draw_augment(jittered(), key, 333, 500);
    const AugmentDraw plain = bale::draw_augment(bale::train_transform(), key, 333, 500);
    CHECK(plain.crop == all.crop);
    CHECK(plain.flip == all.flip);
    CHECK_FALSE(plain.jitter);
    CHECK_FALSE(plain.gray);
    Transform hue_only = jittered();
    hue_only.jitter = bale::ColorJitter::symmetric(0, 0, 0, 0.1);
    const AugmentDraw hue = bale::draw_augment(hue_only, key, 333, 500);
    CHECK(hue.order == all.order);
    CHECK(hue.hue == all.hue);
    CHECK(hue.gray == all.gray);
    CHECK(hue.brightness == 1);
  }
}

TEST_CASE("Crops lie inside images of every size") {
  Transform odd = bale::train_transform();
  odd.scale = {0.5, 4.0};
  odd.ratio = {0.1, 0.3};
  for (const Transform& transform : {bale::train_transform(), odd}) {
    for (const std::uint32_t width : {1U, 2U, 3U, 10U, 100U, 1000U, 65535U}) {
      for (const std::uint32_t height : {1U, 2U, 3U, 10U, 100U, 1000U, 65535U}) {
        for (std::uint64_t sample = 0; sample < 20; ++sample) {
          const bale::Region crop = bale::draw_augment(transform, {.sample = sample}, width, height).crop;
          REQUIRE((crop.width >= 1 && crop.height >= 1));
          REQUIRE((crop.width <= width && crop.x <= width - crop.width));
          REQUIRE((crop.height <= height && crop.y <= height - crop.height));
        }
      }
    }
  }
}

TEST_CASE("Images too long for any ratio get the central crop") {
  const auto crop = [](std::uint32_t width, std::uint32_t height) {
    return bale::draw_augment(bale::train_transform(), {}, width, height).crop;
  };
  CHECK(crop(1000, 10) == bale::Region{493, 0, 13, 10});
  CHECK(crop(10, 1000) == bale::Region{0, 493, 10, 13});
}

TEST_CASE("Transforms without chance take the whole image") {
  for (const Transform& transform : {bale::val_transform(), bale::padded_transform(9, 9), bale::ragged_transform()}) {
    const AugmentDraw draw = bale::draw_augment(transform, {.seed = 3}, 40, 30);
    CHECK(draw.crop == bale::Region{0, 0, 40, 30});
    CHECK_FALSE((draw.flip || draw.gray || draw.jitter));
  }
}

TEST_CASE("Own exp and log are within a few units of the last place") {
  double worst_exp = 0;
  double worst_log = 0;
  bale::KeyedRandom random{11};
  for (int i = 0; i < 200000; ++i) {
    const double x = (random.uniform() - 0.5) * (i % 2 == 0 ? 2 : 1400);
    worst_exp = std::max(worst_exp, ulps(bale::transform_detail::portable_exp(x), std::exp(x)));
    const double y = i % 2 == 0 ? 0.5 + random.uniform() * 1.5 : std::exp(x);
    if (y != 1) worst_log = std::max(worst_log, ulps(bale::transform_detail::portable_log(y), std::log(y)));
  }
  CHECK(worst_exp <= 4);
  CHECK(worst_log <= 4);
  CHECK(bale::transform_detail::portable_exp(0) == 1);
  CHECK(bale::transform_detail::portable_log(1) == 0);
}

TEST_CASE("Own exp and log have golden values") {
  CHECK(bits(bale::transform_detail::portable_log(0.75)) == 0xBFD269621134DB92);
  CHECK(bits(bale::transform_detail::portable_log(4.0 / 3)) == 0x3FD269621134DB92);
  CHECK(bits(bale::transform_detail::portable_exp(0.1)) == 0x3FF1AEC7B35A00D4);
  CHECK(bits(bale::transform_detail::portable_exp(-0.28)) == 0x3FE82F61628CD3D9);
}

TEST_CASE("Halves are rounded to even as Python rounds") {
  using bale::transform_detail::round_half_even;
  const std::vector<std::pair<double, double>> cases = {
      {0, 0},    {0.5, 0},     {1.5, 2},     {2.5, 2},     {2.49, 2},
      {2.51, 3}, {1e15, 1e15}, {224.5, 224}, {225.5, 226}, {0.49999999999999994, 0}};
  for (const auto& [value, expected] : cases) CHECK(round_half_even(value) == expected);
}
