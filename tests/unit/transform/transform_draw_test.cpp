#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/random/portable_math.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/drawn.hpp"

namespace {

using bale::DrawKey;
using bale::test::Drawn;
using bale::test::drawn;
using bale::test::Training;
using bale::transforms::ColorJitter;

Training jittered() { return {.jitter = ColorJitter::symmetric(0.4, 0.4, 0.4, 0.1), .gray = 0.2}; }

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
  const Drawn first = drawn(jittered(), {.seed = 1, .epoch = 2, .sample = 3, .copy = 0}, 500, 375);
  CHECK(first.crop == bale::Region{1, 0, 448, 361});
  CHECK(first.flip == false);
  CHECK(first.gray == false);
  CHECK(first.order == std::vector{0, 2, 1, 3});
  CHECK(bits(first.factors[0]) == 0x3FF48D2EF2660C8B);
  CHECK(bits(first.factors[1]) == 0x3FF134371F9CFDF1);
  CHECK(bits(first.factors[2]) == 0x3FF1D6AB33A59BFE);
  CHECK(bits(first.factors[3]) == 0x3FAA0AD5328545EC);
  // Crops of many sizes and keys, in one number.
  std::uint64_t digest = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const auto width = static_cast<std::uint32_t>(1 + sample * 37 % 900);
    const auto height = static_cast<std::uint32_t>(1 + sample * 53 % 700);
    const Drawn draw = drawn(jittered(), {.seed = 5, .epoch = 6, .sample = sample}, width, height);
    for (const std::uint64_t part :
         {std::uint64_t{draw.crop.x}, std::uint64_t{draw.crop.y}, std::uint64_t{draw.crop.width},
          std::uint64_t{draw.crop.height}, std::uint64_t{draw.flip}, std::uint64_t{draw.gray}, bits(draw.factors[3])}) {
      digest = bale::mix64(digest + part + 1);
    }
  }
  CHECK(digest == 0xD5DA3B27C7DAB7D9);
}

TEST_CASE("Every part of the key matters and nothing else does") {
  const auto hue_of = [](const DrawKey& key, std::uint32_t width, std::uint32_t height) {
    return bits(drawn(jittered(), key, width, height).factors[3]);
  };
  const DrawKey key{.seed = 1, .epoch = 2, .sample = 3, .copy = 4};
  std::set<std::uint64_t> seen;
  for (const DrawKey& other :
       {key, DrawKey{2, 2, 3, 4}, DrawKey{1, 3, 3, 4}, DrawKey{1, 2, 4, 4}, DrawKey{1, 2, 3, 5}}) {
    seen.insert(hue_of(other, 500, 375));
  }
  CHECK(seen.size() == 5);
  CHECK(hue_of(key, 500, 375) == hue_of(key, 10, 900));
}

TEST_CASE("Switching an option on or off leaves the other draws as they are") {
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const DrawKey key{.seed = 9, .sample = sample};
    const Drawn all = drawn(jittered(), key, 333, 500);
    const Drawn plain = drawn(Training{}, key, 333, 500);
    CHECK(plain.crop == all.crop);
    CHECK(plain.flip == all.flip);
    CHECK(plain.order.empty());
    CHECK_FALSE(plain.gray);
    Training partial = jittered();
    partial.jitter = ColorJitter::symmetric(0, 0.4, 0, 0.1);
    const Drawn some = drawn(partial, key, 333, 500);
    std::vector<int> order = all.order;
    std::erase_if(order, [](int number) { return number == 0 || number == 2; });
    CHECK(some.order == order);
    CHECK(some.factors == std::array{1.0, all.factors[1], 1.0, all.factors[3]});
    CHECK(some.gray == all.gray);
  }
}

TEST_CASE("Crops lie inside images of every size") {
  for (const Training& training : {Training{}, Training{.scale = {0.5, 4.0}, .ratio = {0.1, 0.3}}}) {
    for (const std::uint32_t width : {1U, 2U, 3U, 10U, 100U, 1000U, 65535U}) {
      for (const std::uint32_t height : {1U, 2U, 3U, 10U, 100U, 1000U, 65535U}) {
        for (std::uint64_t sample = 0; sample < 20; ++sample) {
          const bale::Region crop = drawn(training, {.sample = sample}, width, height).crop;
          REQUIRE((crop.width >= 1 && crop.height >= 1));
          REQUIRE((crop.width <= width && crop.x <= width - crop.width));
          REQUIRE((crop.height <= height && crop.y <= height - crop.height));
        }
      }
    }
  }
}

TEST_CASE("Images too long for any ratio get the central crop") {
  const auto crop = [](std::uint32_t width, std::uint32_t height) { return drawn(Training{}, {}, width, height).crop; };
  CHECK(crop(1000, 10) == bale::Region{493, 0, 13, 10});
  CHECK(crop(10, 1000) == bale::Region{0, 493, 10, 13});
}

TEST_CASE("Transforms without crops take the whole image") {
  const bale::Step pad = bale::step::Pad{.right = 10, .bottom = 30};
  CHECK(bale::draw_steps(bale::padded_transform(60, 50), {.seed = 3}, 40, 30) == bale::Steps{pad});
  CHECK(bale::draw_steps(bale::padded_transform(30, 40), {}, 40, 30) == bale::Steps{bale::step::Pad{}});
  CHECK(bale::draw_steps(bale::ragged_transform(), {.seed = 3}, 40, 30).empty());
  CHECK(bale::draw_steps(bale::raw_transform(), {.seed = 3}, 40, 30).empty());
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
