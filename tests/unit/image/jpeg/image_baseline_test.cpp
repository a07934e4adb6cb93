// The baseline decoder against libjpeg: the same pixels or the same refusal, and really used where it should be.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_baseline_support.hpp"

namespace {

using bale::Region;
using bale::image_detail::baseline_count;
using bale::image_detail::BaselineUse;
using namespace bale::test;

/// Both ways of decoding, side by side.
class Pair : public DecoderPair {
 public:
  explicit Pair(BaselineUse own = BaselineUse::automatic) : DecoderPair(baseline_count), own_(own) {}

  void compare(const Buffer& jpeg, const Region& region) { DecoderPair::compare(jpeg, region, {}, own_); }

  /// All regions of a small image.
  void compare_all(const Buffer& jpeg, std::uint32_t width, std::uint32_t height) {
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        for (std::uint32_t down = 1; y + down <= height; ++down) {
          for (std::uint32_t across = 1; x + across <= width; ++across) compare(jpeg, {x, y, across, down});
        }
      }
    }
  }

  void compare_random(const Buffer& jpeg, std::uint32_t width, std::uint32_t height, std::mt19937& random, int count) {
    compare(jpeg, {0, 0, width, height});
    for (int i = 0; i < count; ++i) compare(jpeg, draw_region(random, width, height));
  }

 private:
  BaselineUse own_;
};

/// Makes one instruction set the one in use, until the end of the scope.
struct UseTarget {
  explicit UseTarget(const std::string& name) { bale::limit_simd(name); }
  ~UseTarget() { bale::limit_simd(""); }
  UseTarget(const UseTarget&) = delete;
  UseTarget& operator=(const UseTarget&) = delete;
};

/// Where chroma has two columns or fewer, libjpeg's filter is another, and libjpeg decodes.
bool is_ours(const JpegSample& sample) {
  return sample.sampling.size() == 1 || sample.sampling[0].horizontal == 1 || sample.width > 4;
}

}  // namespace

TEST_CASE("Baseline JPEGs of every small size and sampling are those of libjpeg") {
  std::mt19937 random(1);
  Pair pair;
  std::uint64_t expected = 0;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    const auto check = [&](std::uint32_t width, std::uint32_t height) {
      JpegSample sample{.width = width, .height = height, .sampling = sampling};
      sample.optimized = random() % 2 == 0;
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

TEST_CASE("Every region of small baseline JPEGs is that of libjpeg") {
  std::mt19937 random(2);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    for (const auto& [width, height] : {std::pair{18u, 11u}, {7u, 19u}}) {
      const Buffer jpeg = make_jpeg({.width = width, .height = height, .sampling = sampling}, random);
      pair.compare_all(jpeg, width, height);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("Baseline JPEGs of every quality and kind of table are those of libjpeg with every instruction set") {
  std::mt19937 random(3);
  std::vector<std::string> targets = bale::simd_targets();
  targets.emplace_back();  // plain
  for (const std::string& target : targets) {
    const UseTarget use(target);
    Pair pair(target.empty() ? BaselineUse::plain : BaselineUse::automatic);
    for (int round = 0; round < 150; ++round) {
      const JpegSample sample = draw_baseline_sample(random, round % 8 == 0 ? 300 : 100);
      const Buffer jpeg = make_jpeg(sample, random);
      pair.compare_random(jpeg, sample.width, sample.height, random, 8);
    }
    CAPTURE(target);
    CHECK(pair.differences() == 0);
    CHECK(pair.used() == pair.compared());
  }
}

TEST_CASE("Other kinds of JPEG are left to libjpeg") {
  std::mt19937 random(4);
  Pair pair;
  std::vector<JpegSample> samples;
  for (const JpegSample::Scans scans : {JpegSample::Scans::separate, JpegSample::Scans::progressive}) {
    samples.push_back({.width = 40, .height = 30, .scans = scans});
  }
  samples.push_back({.width = 40, .height = 30, .arithmetic = true});
  samples.push_back({.width = 40, .height = 30, .sampling = {{1, 1}, {1, 1}, {1, 1}}, .transformed = false});
  for (const std::vector<Sampling>& sampling : {std::vector<Sampling>{{4, 1}, {1, 1}, {1, 1}},
                                                {{2, 2}, {2, 1}, {1, 1}},
                                                {{1, 1}, {2, 2}, {1, 1}},
                                                {{1, 1}, {1, 1}, {1, 1}, {1, 1}}}) {
    samples.push_back({.width = 40, .height = 30, .sampling = sampling});
  }
  for (const JpegSample& sample : samples) {
    pair.compare_random(make_jpeg(sample, random), sample.width, sample.height, random, 5);
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.refused() == 0);
  CHECK(pair.used() == 0);
}

TEST_CASE("Damaged baseline JPEGs give what libjpeg gives") {
  std::mt19937 random(5);
  Pair pair;
  for (int round = 0; round < 250; ++round) {
    const JpegSample sample = draw_baseline_sample(random, 60);
    const Buffer jpeg = make_jpeg(sample, random);
    for (int mutation = 0; mutation < 20; ++mutation) {
      Buffer damaged = jpeg;
      // The headers are some 600 bytes, the rest of a small file is its scan.
      const std::size_t first = mutation % 4 == 0 ? 0 : std::min<std::size_t>(damaged.size() - 1, 600);
      const auto place = [&] { return first + random() % (damaged.size() - first); };
      if (mutation % 3 == 0) damaged.resize(place() + 1);
      if (mutation % 3 != 0 || damaged.size() % 2 == 0) {
        for (std::uint32_t flips = 1 + random() % 3; flips > 0 && damaged.size() > first; --flips) {
          damaged[place()] ^= static_cast<std::byte>(1u << random() % 8);
        }
      }
      if (mutation % 7 == 0 && damaged.size() > first) damaged[place()] = std::byte{0xFF};
      pair.compare_random(damaged, sample.width, sample.height, random, 2);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() > 1000);
  CHECK(pair.used() < pair.compared());
  CHECK(pair.refused() > 1000);
}

TEST_CASE("Baseline JPEGs cut off at every byte give what libjpeg gives") {
  std::mt19937 random(6);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    JpegSample sample{.width = 24, .height = 64, .sampling = sampling};
    sample.restart_interval = static_cast<int>(random() % 3);
    const Buffer jpeg = make_jpeg(sample, random);
    for (std::size_t size = 1; size <= jpeg.size(); ++size) {
      const Buffer cut = first_bytes(jpeg, size);
      for (const std::uint32_t bottom : {14u, 15u, 16u, 17u}) pair.compare(cut, {3, bottom - 9, 11, 9});
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() > 1000);
  CHECK(pair.refused() > 1000);
}

TEST_CASE("Coefficients too large for 16 bits are left to libjpeg") {
  std::mt19937 random(7);
  Pair pair;
  const std::array marker{std::byte{0xFF}, std::byte{0xDB}};
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    Buffer jpeg = make_jpeg({.width = 40, .height = 40, .sampling = sampling, .quality = 95}, random);
    const auto table = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
    REQUIRE(table != jpeg.end());
    for (int round = 0; round < 20; ++round) {
      // Marker, length, number of the table, then the quantizers.
      for (int i = 0; i < 64; ++i) table[5 + i] = static_cast<std::byte>(random() % (round * 13 + 1));
      if (round % 2 == 0) table[5] = std::byte{255};
      pair.compare_random(jpeg, 40, 40, random, 3);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() < pair.compared());
}
