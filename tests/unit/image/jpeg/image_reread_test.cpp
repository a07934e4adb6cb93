// A JPEG that was written again is read again: no difference from the coefficients escapes.
#include <algorithm>

#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_baseline_support.hpp"

namespace {

using namespace bale::image_detail;
using namespace bale::test;

/// A JPEG written again, step by step.
struct Written {
  explicit Written(const Buffer& jpeg) {
    JpegDecoder from;
    from.open(jpeg);
    const BaselineFrame frame = baseline_frame(from.info()).value();
    planes.open(frame);
    symbols.open();
    REQUIRE(reader.begin_baseline(frame, planes, false));
    for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
      REQUIRE(reader.next_row(planes, row));
      planes.fill_mcus(row);
      REQUIRE(symbols.add_row(planes, row, true));
    }
    REQUIRE(reader.ends_exactly());
    BaselineEncoder encoder;
    REQUIRE(encoder.open(symbols, frame.num_components == 1 ? 2 : 4, false));
    append_segments(from.info(), encoder, bytes);
    first_of_scan = bytes.size();
    encoder.write(frame.mcus_down, bytes, points);
    bytes.insert(bytes.end(), {std::byte{0xFF}, std::byte{0xD9}});
  }

  bool compares() { return compares(bytes); }
  bool compares(const Buffer& jpeg) {
    JpegDecoder again;
    again.open(jpeg);
    return reader.compare(baseline_frame(again.info()).value(), planes, points, false);
  }

  CoefficientPlanes planes;
  CoefficientReader reader;
  ScanSymbols symbols;
  std::vector<SeekPoint> points;
  Buffer bytes;
  std::size_t first_of_scan = 0;
};

std::vector<Buffer> jpegs(std::mt19937& random) {
  std::vector<Buffer> all;
  for (const std::vector<Sampling>& sampling : k_baseline_samplings) {
    for (const std::uint32_t height : {7u, 40u, 50u}) {
      all.push_back(make_jpeg({.width = 45, .height = height, .sampling = sampling}, random));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("A coefficient that is not the one that was written is noticed") {
  std::mt19937 random(1);
  for (const Buffer& jpeg : jpegs(random)) {
    Written written(jpeg);
    REQUIRE(written.compares());
    for (const CoefficientPlanes::Plane& plane : written.planes.planes()) {
      for (int round = 0; round < 50; ++round) {
        std::int16_t& value = plane.block(random() % plane.across, random() % plane.down)[random() % 64];
        value = static_cast<std::int16_t>(value + 1);
        CHECK_FALSE(written.compares());
        value = static_cast<std::int16_t>(value - 1);
      }
    }
    CHECK(written.compares());
  }
}

TEST_CASE("Every flipped bit of the data that was written is noticed") {
  std::mt19937 random(2);
  for (const Buffer& jpeg : jpegs(random)) {
    Written written(jpeg);
    REQUIRE(written.compares());
    // The last bits before the marker only fill a byte.
    for (std::size_t at = written.first_of_scan; at < written.bytes.size() - 3; ++at) {
      Buffer flipped = written.bytes;
      flipped[at] ^= static_cast<std::byte>(1u << random() % 8);
      CHECK_FALSE(written.compares(flipped));
    }
    Buffer longer = written.bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(written.compares(longer));
    longer = written.bytes;
    longer.insert(longer.end() - 2, std::byte{0});
    CHECK_FALSE(written.compares(longer));
    CHECK_FALSE(written.compares(first_bytes(written.bytes, written.bytes.size() - 1)));
  }
}

TEST_CASE("A row that does not end where the next one starts is noticed") {
  std::mt19937 random(3);
  for (const Buffer& jpeg : jpegs(random)) {
    Written written(jpeg);
    REQUIRE(written.compares());
    const std::vector<SeekPoint> good = written.points;
    for (std::size_t row = 1; row + 1 < good.size(); ++row) {
      for (const int step : {-9, -1, 1, 8}) {
        written.points[row].position = good[row].position + static_cast<std::uint64_t>(step);
        CHECK_FALSE(written.compares());
      }
      written.points = good;
      ++written.points[row].predictions[0];
      CHECK_FALSE(written.compares());
      // The byte in which a row starts comes twice: each row is there, but no decoder would find the second one.
      const std::size_t at = written.first_of_scan + good[row].position / 8;
      const std::size_t length = written.bytes[at] == std::byte{0xFF} ? 2 : 1;
      Buffer longer = written.bytes;
      longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(at),
                    written.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    written.bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
      written.points = good;
      for (std::size_t later = row; later < good.size(); ++later) written.points[later].position += 8 * length;
      CHECK_FALSE(written.compares(longer));
      written.points = good;
    }
    written.points.pop_back();
    CHECK_FALSE(written.compares());
  }
}
