// Decoding that begins in the middle: the pixels of libjpeg, and no trust in seek points that are not the image's own.
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_baseline_support.hpp"

namespace {

using bale::crc32c;
using bale::KeptSeekPoints;
using bale::make_seek_points;
using bale::Region;
using bale::image_detail::BaselineUse;
using bale::image_detail::seek_count;
using namespace bale::test;

/// libjpeg without seek points against the baseline decoder with them.
class SeekPair : public DecoderPair {
 public:
  SeekPair() : DecoderPair(seek_count) {}
  /// Decodes, whatever comes out.
  Decoded decode(const Buffer& jpeg, const KeptSeekPoints& entry, const Region& region) {
    return decode_region(ours_, BaselineUse::automatic, jpeg, region, entry);
  }
};

/// A JPEG with seek points at every row of MCUs, or at some of them.
struct Marked {
  Marked(const JpegSample& sample, std::mt19937& random, std::uint32_t bytes_between = 0)
      : jpeg(make_jpeg(sample, random)), record(make_seek_points(jpeg, bytes_between)) {}

  KeptSeekPoints entry() const { return {record, crc32c(jpeg)}; }

  Buffer jpeg;
  Buffer record;
};

/// An image that has rows enough to have seek points.
JpegSample draw_tall_sample(std::mt19937& random, std::uint32_t max_side) {
  JpegSample sample = draw_baseline_sample(random, max_side);
  if (sample.height <= 16) sample.height += 16;
  return sample;
}

/// Makes a record's own checksum that of its bytes.
void mend(Buffer& record) {
  const std::uint32_t crc = crc32c(bale::Bytes(record).subspan(4));
  for (std::size_t i = 0; i < 4; ++i) record[i] = static_cast<std::byte>(crc >> 8 * i);
}

}  // namespace

TEST_CASE("Regions decoded from seek points are those of libjpeg") {
  std::mt19937 random(1);
  SeekPair pair;
  std::uint64_t marked = 0;
  for (const auto& sampling : k_baseline_samplings) {
    for (std::uint32_t side = 1; side <= 70; ++side) {
      for (const bool tall : {false, true}) {
        const auto other = 1 + static_cast<std::uint32_t>(random() % 70);
        JpegSample sample{
            .width = tall ? other : side, .height = tall ? side : other, .sampling = sampling, .quality = 50};
        sample.restart_interval = side % 2 == 0 ? 0 : static_cast<int>(random() % 12);
        const Marked image(sample, random, side % 3 == 0 ? 150 : 0);
        if (image.record.empty()) continue;
        pair.compare(image.jpeg, {0, 0, sample.width, sample.height}, image.entry());
        for (int i = 0; i < 4; ++i) {
          pair.compare(image.jpeg, draw_region(random, sample.width, sample.height), image.entry());
        }
        ++marked;
      }
    }
  }
  CHECK(marked > 500);
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("Every region of small JPEGs is that of libjpeg, from seek points") {
  std::mt19937 random(2);
  SeekPair pair;
  for (const auto& sampling : k_baseline_samplings) {
    const Marked image({.width = 13, .height = 33, .sampling = sampling}, random);
    REQUIRE(!image.record.empty());
    for (std::uint32_t y = 0; y < 33; ++y) {
      for (std::uint32_t down = 1; y + down <= 33; ++down) {
        for (std::uint32_t x = 0; x < 13; x += 4) {
          pair.compare(image.jpeg, {x, y, 13 - x, down}, image.entry());
          pair.compare(image.jpeg, {0, y, x + 1, down}, image.entry());
        }
      }
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("Large JPEGs of every quality and kind of table are those of libjpeg from seek points") {
  std::mt19937 random(3);
  SeekPair pair;
  for (int round = 0; round < 120; ++round) {
    const JpegSample sample = draw_tall_sample(random, 300);
    const Marked image(sample, random, round % 4 == 0 ? bale::k_bytes_between_seek_points : 0);
    if (image.record.empty()) continue;
    const BaselineUse own = round % 5 == 0 ? BaselineUse::plain : BaselineUse::automatic;
    for (int i = 0; i < 6; ++i) {
      pair.compare(image.jpeg, draw_region(random, sample.width, sample.height), image.entry(), own);
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.compared() > 500);
  CHECK(pair.used() == pair.compared());
}

TEST_CASE("Seek points are some seven bytes a row") {
  std::mt19937 random(4);
  const JpegSample sample{.width = 500, .height = 376, .sampling = k_baseline_samplings[2]};
  const Marked image(sample, random, bale::k_bytes_between_seek_points);
  CHECK(image.record.size() > 46 * 5);
  CHECK(image.record.size() < 46 * 10 + 16);
  CHECK(make_seek_points(image.jpeg) == image.record);
}

TEST_CASE("Images that the baseline decoder does not read, and damaged ones, have no seek points") {
  std::mt19937 random(5);
  JpegSample sample{.width = 60, .height = 60};
  const Buffer jpeg = make_jpeg(sample, random);
  REQUIRE(!make_seek_points(jpeg, 0).empty());
  for (std::size_t size = 0; size < jpeg.size(); ++size) {
    CHECK(make_seek_points(bale::Bytes(jpeg).first(size), 0).empty());
  }
  sample.scans = JpegSample::Scans::progressive;
  CHECK(make_seek_points(make_jpeg(sample, random), 0).empty());
  sample.scans = JpegSample::Scans::one;
  sample.arithmetic = true;
  CHECK(make_seek_points(make_jpeg(sample, random), 0).empty());
  CHECK(make_seek_points(make_jpeg({.width = 60, .height = 8}, random), 0).empty());  // one row
  CHECK(make_seek_points(bale::test::make_png({.width = 60, .height = 60}, random), 0).empty());
}

TEST_CASE("Records that are damaged or of other bytes make no difference and are not used") {
  std::mt19937 random(6);
  SeekPair pair;
  for (int round = 0; round < 15; ++round) {
    const JpegSample sample = draw_tall_sample(random, 60);
    const Marked image(sample, random);
    const Marked other(sample, random);
    const auto region = [&] { return draw_region(random, sample.width, sample.height); };
    pair.compare(image.jpeg, region(), {other.record, crc32c(image.jpeg)});
    for (std::size_t size = 1; size < image.record.size(); ++size) {
      pair.compare(image.jpeg, region(), {bale::Bytes(image.record).first(size), crc32c(image.jpeg)});
    }
    for (std::size_t bit = 0; bit < image.record.size() * 8; ++bit) {
      Buffer flipped = image.record;
      flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      pair.compare(image.jpeg, region(), {flipped, crc32c(image.jpeg)});
    }
    for (int i = 0; i < 50; ++i) {
      Buffer noise(random() % 200);
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
      pair.compare(image.jpeg, region(), {noise, crc32c(image.jpeg)});
    }
    // The image changed after its seek points were made.
    for (int i = 0; i < 50; ++i) {
      Buffer damaged = image.jpeg;
      flip_bits(damaged, 1, random);
      pair.compare(damaged, region(), {image.record, crc32c(damaged)});
    }
  }
  CHECK(pair.differences() == 0);
  CHECK(pair.compared() > 5000);
  CHECK(pair.used() == 0);
}

// Somebody who can write such records can write the images as well, so pixels may differ; memory is what is at stake.
TEST_CASE("Forged seek points do no harm") {
  std::mt19937 random(7);
  SeekPair pair;
  std::uint64_t decoded = 0;
  for (int round = 0; round < 60; ++round) {
    const JpegSample sample = draw_tall_sample(random, 60);
    const Marked image(sample, random, round % 2 == 0 ? 0 : 100);
    if (image.record.empty()) continue;
    for (int i = 0; i < 60; ++i) {
      Buffer forged = image.record;
      for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
        forged[12 + random() % (forged.size() - 12)] = static_cast<std::byte>(random());
      }
      mend(forged);
      const Region region = draw_region(random, sample.width, sample.height);
      const Decoded result = pair.decode(image.jpeg, {forged, crc32c(image.jpeg)}, region);
      CHECK(result.error == "");
      CHECK(result.pixels.size() == std::size_t{region.width} * region.height * 3);
      decoded += result.error.empty() ? 1 : 0;
    }
  }
  CHECK(decoded > 1000);
}
