// Our own transcoding of JPEGs against libjpeg's: the same bytes or the same refusal, and really used where it should
// be.
#include <algorithm>
#include <array>
#include <string>

#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/jpeg_lossless.hpp"
#include "bale/formats/image/jpeg/transcode/jpeg_transcoder.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"
#include "coefficient_jpegs.hpp"
#include "image_baseline_support.hpp"

namespace {

using bale::image_detail::BaselineUse;
using namespace bale::test;

class Pair {
 public:
  explicit Pair(BaselineUse own = BaselineUse::automatic) : own_(own) {}

  /// Returns libjpeg's result.
  Buffer compare(const Buffer& jpeg) {
    bale::image_detail::set_baseline_use(BaselineUse::never);
    const Buffer expected = bale::make_jpeg_lossless(jpeg);
    bale::image_detail::set_baseline_use(own_);
    const std::uint64_t before = bale::image_detail::transcoded_count();
    const bale::Bytes result = lossless_.make(jpeg);
    if (!std::ranges::equal(result, expected)) ++differences_;
    used_ += bale::image_detail::transcoded_count() - before;
    ++compared_;
    if (!expected.empty()) ++written_;
    bale::image_detail::set_baseline_use(BaselineUse::automatic);
    return expected;
  }

  std::uint64_t compared() const { return compared_; }
  std::uint64_t differences() const { return differences_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t written() const { return written_; }

 private:
  BaselineUse own_;
  bale::JpegLossless lossless_;  // one image after another in the same memory
  std::uint64_t compared_ = 0;
  std::uint64_t differences_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t written_ = 0;
};

JpegSample with_scans(JpegSample sample, std::uint32_t number) {
  constexpr std::array k_scans{JpegSample::Scans::one, JpegSample::Scans::progressive, JpegSample::Scans::drawn};
  sample.scans = k_scans[number % k_scans.size()];
  return sample;
}

/// Where the frame header has the height, and the width after it.
std::size_t frame_size_offset(const Buffer& jpeg) {
  for (std::size_t at = 2; at + 9 < jpeg.size();) {
    const auto code = std::to_integer<unsigned>(jpeg[at + 1]);
    if (code >= 0xC0 && code <= 0xC2) return at + 5;
    at += 2 + (std::to_integer<std::size_t>(jpeg[at + 2]) << 8 | std::to_integer<std::size_t>(jpeg[at + 3]));
  }
  FAIL("no frame header");
  return 0;
}

Buffer insert(Buffer jpeg, std::size_t at, const std::vector<int>& values) {
  Buffer bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  jpeg.insert(jpeg.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
  return jpeg;
}

/// One block: DC code 0, then 01, a run of sixteen zeros, and 00, the end of the block.
Buffer jpeg_with_run_before_end() {
  Buffer jpeg;
  const auto append = [&](const std::vector<int>& values) { jpeg = insert(jpeg, jpeg.size(), values); };
  append({0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0});
  append(std::vector<int>(64, 1));
  append({0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0});
  append({0xFF, 0xC4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00});
  append({0xFF, 0xC4, 0, 22, 0x10, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xF0, 0x01});
  append({0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0b0010'0111, 0xFF, 0xD9});
  return jpeg;
}

const std::vector<int> k_comment{0xFF, 0xFE, 0, 5, 'b', 'u', 's'};

/// The offset of the second scan's header.
std::size_t second_scan(const Buffer& jpeg) {
  int scans = 0;
  for (std::size_t at = 2; at + 1 < jpeg.size(); ++at) {
    if (jpeg[at] == std::byte{0xFF} && jpeg[at + 1] == std::byte{0xDA} && ++scans == 2) return at;
  }
  FAIL("one scan only");
  return 0;
}

}  // namespace

TEST_CASE("JPEGs of every small size, sampling and coding are transcoded to libjpeg's bytes") {
  std::mt19937 random(1);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    for (std::uint32_t width = 5; width <= 36; ++width) {
      for (std::uint32_t height = 1; height <= 36; height += 1 + height % 3) {
        JpegSample sample{.width = width, .height = height, .sampling = sampling};
        sample.restart_interval = random() % 3 == 0 ? 1 + static_cast<int>(random() % 5) : 0;
        pair.compare(make_jpeg(with_scans(sample, width + height), random));
      }
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
  CHECK(pair.written() > pair.compared() / 2);
}

TEST_CASE("JPEGs of every quality are transcoded to libjpeg's bytes with every instruction set") {
  std::mt19937 random(2);
  std::vector<std::string> targets = bale::simd_targets();
  targets.emplace_back();  // plain
  for (const std::string& target : targets) {
    bale::limit_simd(target);
    Pair pair(target.empty() ? BaselineUse::plain : BaselineUse::automatic);
    for (std::uint32_t round = 0; round < 150; ++round) {
      pair.compare(make_jpeg(with_scans(draw_baseline_sample(random, round % 8 == 0 ? 300 : 100), round), random));
    }
    bale::limit_simd("");
    CAPTURE(target);
    CHECK(pair.differences() == 0);
    CHECK(pair.used() == pair.compared());
    CHECK(pair.written() > 50);
  }
}

TEST_CASE("Every block that a baseline JPEG can hold is transcoded to libjpeg's bytes") {
  std::mt19937 random(3);
  std::vector<std::string> targets = bale::simd_targets();
  targets.emplace_back();
  for (const std::string& target : targets) {
    bale::limit_simd(target);
    Pair pair(target.empty() ? BaselineUse::plain : BaselineUse::automatic);
    for (const bool progressive : {false, true}) {
      const auto compare = [&](const std::vector<CoefficientBlock>& blocks) {
        return !pair.compare(jpeg_of_coefficients({.blocks = blocks, .progressive = progressive})).empty();
      };
      std::vector<CoefficientBlock> blocks(40);  // all zero
      compare(blocks);
      for (std::size_t run = 0; run < 63; ++run) {  // zeros before and after a coefficient
        blocks[run % 40][1 + run] = static_cast<std::int16_t>(random() % 2 == 0 ? 1 : -1023);
        compare(blocks);
      }
      for (auto& block : blocks) block.fill(1023);  // no zero at all, the largest sizes
      for (std::size_t i = 0; i < blocks.size(); ++i)
        blocks[i][0] = static_cast<std::int16_t>(i % 2 == 0 ? 1023 : -1024);
      compare(blocks);
      for (auto& block : blocks) block.fill(-1023);
      compare(blocks);
      for (int round = 0; round < 100; ++round) {
        const std::uint32_t rarity = 1 + random() % 40;
        for (auto& block : blocks) {
          for (auto& value : block) {
            const int size = static_cast<int>(random() % 11);
            const auto magnitude = static_cast<int>(random() % (1U << size));
            value = static_cast<std::int16_t>(random() % rarity != 0 ? 0 : random() % 2 == 0 ? magnitude : -magnitude);
          }
        }
        compare(blocks);
      }
    }
    bale::limit_simd("");
    CAPTURE(target);
    CHECK(pair.differences() == 0);
    CHECK(pair.used() == pair.compared());
    CHECK(pair.written() > 100);
  }
}

TEST_CASE("Coefficients that no baseline JPEG can hold are refused as libjpeg refuses them") {
  Pair pair;
  const auto written = [&](std::size_t index, int value) {
    std::vector<CoefficientBlock> blocks(9);
    blocks[4][index] = static_cast<std::int16_t>(value);
    return !pair.compare(jpeg_of_coefficients({.blocks = blocks, .progressive = true})).empty();
  };
  // Scans that shift by two bits can store more than a baseline scan.
  for (const int sign : {1, -1}) {
    CHECK(written(0, sign * 2047));
    CHECK_FALSE(written(0, sign * 2048));
    CHECK(written(40, sign * 1023));
    CHECK_FALSE(written(40, sign * 1024));
    CHECK_FALSE(written(63, sign * 4000));
  }
  CHECK(pair.differences() == 0);
}

TEST_CASE("Quantization tables of 16 bits are transcoded to libjpeg's bytes") {
  Pair pair;
  std::vector<CoefficientBlock> blocks(9);
  blocks[3][5] = 7;
  for (const int factor : {255, 256, 32767}) {
    CHECK_FALSE(pair.compare(jpeg_of_coefficients({.blocks = blocks, .quantizer = factor})).empty());
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("What other encoders write differently from libjpeg is written as libjpeg does") {
  std::mt19937 random(4);
  Pair pair;
  // Blocks that only fill MCUs, but have coefficients: those of a larger image.
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    for (std::uint32_t number = 0; number < 3; ++number) {
      Buffer jpeg = make_jpeg(with_scans({.width = 32, .height = 32, .sampling = sampling}, number), random);
      const std::size_t size = frame_size_offset(jpeg);
      // The smallest sides with the same number of MCUs.
      const bool is_color = sampling.size() > 1;
      jpeg[size + 1] = is_color && sampling[0].vertical == 2 ? std::byte{17} : std::byte{25};
      jpeg[size + 3] = is_color && sampling[0].horizontal == 2 ? std::byte{17} : std::byte{25};
      pair.compare(jpeg);
    }
  }
  // The others, progressive ones, are left to libjpeg.
  const std::uint64_t used = pair.used();
  CHECK(used == 2 * k_baseline_samplings.size());
  pair.compare(jpeg_with_run_before_end());
  CHECK(pair.used() == used + 1);
  CHECK(pair.differences() == 0);
}

TEST_CASE("Symbols are counted by table, whichever tables the file has") {
  std::mt19937 random(7);
  Pair pair;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    for (const bool optimized : {false, true}) {
      for (const int restart_interval : {0, 3}) {
        pair.compare(make_jpeg({.width = 70,
                                .height = 50,
                                .sampling = sampling,
                                .restart_interval = restart_interval,
                                .optimized = optimized,
                                .one_table = true},
                               random));
      }
    }
  }
  CHECK(pair.used() == pair.compared());
  CHECK(pair.written() > k_baseline_samplings.size());
  CHECK(pair.differences() == 0);
}

TEST_CASE("Odd JPEGs are left to libjpeg, or transcoded to its bytes") {
  std::mt19937 random(5);
  Pair pair;
  for (std::uint32_t number = 0; number < 12; ++number) {
    JpegSample sample = with_scans({.width = 60, .height = 50}, number);
    sample.restart_interval = number % 4 == 3 ? 2 : 0;
    const Buffer jpeg = make_jpeg(sample, random);
    const std::uint64_t before = pair.used();
    CHECK(!pair.compare(jpeg).empty());
    CHECK(!pair.compare(insert(jpeg, 2, k_comment)).empty());
    CHECK(pair.used() == before + 2);
    const std::size_t end = jpeg.size() - 2;
    CHECK(pair.compare(insert(jpeg, jpeg.size(), {0})).empty());  // bytes after the end
    for (const std::vector<int>& bytes :
         {std::vector{0}, {0xFF}, {0xFF, 0xD0}, {0xFF, 0xD0, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, k_comment}) {
      pair.compare(insert(jpeg, end, bytes));  // before the end
    }
    pair.compare(insert(jpeg, end, {0xFF, 0xDC, 0, 4, 0, 50}));  // DNL
    if (sample.scans == JpegSample::Scans::one) continue;
    const std::uint64_t used = pair.used();
    CHECK(!pair.compare(insert(jpeg, second_scan(jpeg), k_comment)).empty());
    CHECK(pair.used() == used);  // libjpeg's way moves such a comment to the front
    pair.compare(insert(jpeg, second_scan(jpeg), {0xFF, 0xDD, 0, 4, 0, 3}));  // DRI
  }
  for (const JpegSample::Scans scans : {JpegSample::Scans::separate, JpegSample::Scans::unrefined}) {
    pair.compare(make_jpeg({.width = 60, .height = 50, .scans = scans}, random));
  }
  pair.compare(make_jpeg({.width = 3, .height = 50}, random));
  pair.compare(make_jpeg({.width = 60, .height = 50, .transformed = false}, random));
  pair.compare(make_jpeg({.width = 60, .height = 50, .sampling = {{2, 2}, {2, 1}, {1, 1}}}, random));
  pair.compare(make_jpeg({.width = 60, .height = 50, .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}}}, random));
  pair.compare(make_jpeg({.width = 60, .height = 50, .arithmetic = true}, random));
  CHECK(pair.differences() == 0);
}

TEST_CASE("Damaged and cut JPEGs have the same outcome as with libjpeg") {
  std::mt19937 random(6);
  Pair pair;
  for (std::uint32_t round = 0; round < 120; ++round) {
    const Buffer jpeg = make_jpeg(with_scans(draw_baseline_sample(random, 60), round), random);
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
      pair.compare(damaged);
    }
    for (int cut = 0; cut < 5; ++cut) pair.compare(first_bytes(jpeg, 1 + random() % jpeg.size()));
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() > 300);
  CHECK(pair.used() < pair.compared());
  CHECK(pair.written() > 300);
}
