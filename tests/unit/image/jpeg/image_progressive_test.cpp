// The progressive decoder against libjpeg: the same pixels or the same refusal, and really used where it should be.
#include <algorithm>
#include <array>
#include <string>

#include "bale/formats/image/jpeg/decode/progressive_decoder.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"
#include "image_baseline_support.hpp"

namespace {

using bale::Region;
using bale::image_detail::BaselineUse;
using namespace bale::test;

class Pair : public DecoderPair {
 public:
  explicit Pair(BaselineUse own = BaselineUse::automatic)
      : DecoderPair(bale::image_detail::progressive_count), own_(own) {}

  void compare(const Buffer& jpeg, const Region& region) { DecoderPair::compare(jpeg, region, {}, own_); }

  void compare_random(const Buffer& jpeg, std::uint32_t width, std::uint32_t height, std::mt19937& random, int count) {
    compare(jpeg, {0, 0, width, height});
    for (int i = 0; i < count; ++i) compare(jpeg, draw_region(random, width, height));
  }

 private:
  BaselineUse own_;
};

JpegSample progressive(JpegSample sample, std::mt19937& random) {
  sample.scans = random() % 2 == 0 ? JpegSample::Scans::progressive : JpegSample::Scans::drawn;
  if (random() % 4 == 0) sample.restart_rows = 1;
  return sample;
}

/// Where chroma has two columns or fewer, libjpeg's filter is another, and libjpeg decodes.
bool is_ours(const JpegSample& sample) {
  return sample.sampling.size() == 1 || sample.sampling[0].horizontal == 1 || sample.width > 4;
}

}  // namespace

TEST_CASE("Progressive JPEGs of every small size and sampling are those of libjpeg") {
  std::mt19937 random(1);
  Pair pair;
  std::uint64_t expected = 0;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    const auto check = [&](std::uint32_t width, std::uint32_t height) {
      JpegSample sample{.width = width, .height = height, .sampling = sampling};
      sample = progressive(sample, random);
      pair.compare_random(make_jpeg(sample, random), width, height, random, 3);
      if (is_ours(sample)) expected += 4;
    };
    for (std::uint32_t width = 1; width <= 20; ++width) {
      for (std::uint32_t height = 1; height <= 20; ++height) check(width, height);
    }
    for (std::uint32_t side = 1; side <= 70; ++side) {
      check(side, 1 + static_cast<std::uint32_t>(random() % 70));
      check(1 + static_cast<std::uint32_t>(random() % 70), side);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == expected);
}

TEST_CASE("Every region of small progressive JPEGs is that of libjpeg") {
  const auto step = by_tier<std::uint32_t>(1, 1, 3);
  std::mt19937 random(2);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    const std::uint32_t width = 18;
    const std::uint32_t height = 19;
    const Buffer jpeg =
        make_jpeg(progressive({.width = width, .height = height, .sampling = sampling}, random), random);
    for (std::uint32_t y = 0; y < height; y += step) {
      for (std::uint32_t x = 0; x < width; x += 1 + x % 3) {
        for (std::uint32_t down = 1; y + down <= height; ++down) pair.compare(jpeg, {x, y, 1 + (width - x) / 2, down});
      }
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("Progressive JPEGs of every quality and script are those of libjpeg with every instruction set") {
  std::mt19937 random(3);
  std::vector<std::string> targets = bale::simd_targets();
  targets.emplace_back();  // plain
  for (const std::string& target : targets) {
    bale::limit_simd(target);
    Pair pair(target.empty() ? BaselineUse::plain : BaselineUse::automatic);
    for (int round = 0; round < 150; ++round) {
      const JpegSample sample = progressive(draw_baseline_sample(random, round % 8 == 0 ? 300 : 100), random);
      const Buffer jpeg = make_jpeg(sample, random);
      pair.compare_random(jpeg, sample.width, sample.height, random, 6);
    }
    bale::limit_simd("");
    CAPTURE(target);
    CHECK(pair.differences() == 0);
    CHECK(pair.used() == pair.compared());
  }
}

TEST_CASE("Progressive JPEGs whose scans do not give every bit are left to libjpeg") {
  std::mt19937 random(4);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    const JpegSample sample{.width = 60, .height = 50, .sampling = sampling, .scans = JpegSample::Scans::unrefined};
    pair.compare_random(make_jpeg(sample, random), sample.width, sample.height, random, 5);
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == 0);
}

TEST_CASE("Damaged progressive JPEGs give what libjpeg gives") {
  std::mt19937 random(5);
  Pair pair;
  for (int round = 0; round < 250; ++round) {
    const JpegSample sample = progressive(draw_baseline_sample(random, 60), random);
    const Buffer jpeg = make_jpeg(sample, random);
    for (int mutation = 0; mutation < 20; ++mutation) {
      Buffer damaged = jpeg;
      const std::size_t first = mutation % 4 == 0 ? 0 : std::min<std::size_t>(damaged.size() - 1, 300);
      const auto place = [&] { return first + random() % (damaged.size() - first); };
      if (mutation % 5 == 0) damaged.resize(place() + 1);
      if (damaged.size() <= first) continue;
      for (std::uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
        damaged[place()] ^= static_cast<std::byte>(1u << random() % 8);
      }
      if (mutation % 7 == 0) damaged[place()] = std::byte{0xFF};
      pair.compare_random(damaged, sample.width, sample.height, random, 2);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() > 1000);
  CHECK(pair.used() < pair.compared());
  CHECK(pair.refused() > 1000);
}

TEST_CASE("Progressive JPEGs cut off at every byte give what libjpeg gives") {
  std::mt19937 random(6);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    JpegSample sample{.width = 24, .height = 40, .sampling = sampling};
    sample.restart_interval = static_cast<int>(random() % 3);
    const Buffer jpeg = make_jpeg(progressive(sample, random), random);
    for (std::size_t size = 1; size <= jpeg.size(); ++size) {
      const Buffer cut = first_bytes(jpeg, size);
      for (const std::uint32_t bottom : {15u, 17u}) pair.compare(cut, {3, bottom - 9, 11, 9});
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() >= k_baseline_samplings.size() * 2);
  CHECK(pair.refused() > 1000);
}
