// JPEGs written again: every pixel and every marker is as before, and what is odd is left alone.
#include <cstring>

#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/jpeg_lossless.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/image/image_samples.hpp"

using bale::decode_image;
using bale::make_jpeg_lossless;
using bale::test::JpegSample;
using bale::test::make_jpeg;
using bale::test::Sampling;
using Buffer = std::vector<std::byte>;

namespace {

constexpr auto k_soi_bytes = 2;
constexpr int k_sof0 = 0xC0;
constexpr int k_dri = 0xDD;
constexpr int k_sos = 0xDA;

struct Segment {
  int marker;
  Buffer bytes;
};

/// Those before the first scan's data.
std::vector<Segment> segments(const Buffer& jpeg) {
  std::vector<Segment> found;
  for (std::size_t at = k_soi_bytes; at + 4 <= jpeg.size();) {
    const int marker = std::to_integer<int>(jpeg[at + 1]);
    const std::size_t length =
        std::to_integer<std::size_t>(jpeg[at + 2]) << 8 | std::to_integer<std::size_t>(jpeg[at + 3]);
    const auto begin = jpeg.begin() + static_cast<std::ptrdiff_t>(at);
    found.push_back({marker, Buffer(begin, begin + static_cast<std::ptrdiff_t>(2 + length))});
    if (marker == k_sos) break;
    at += 2 + length;
  }
  return found;
}

bool has(const Buffer& jpeg, int marker) {
  for (const Segment& segment : segments(jpeg)) {
    if (segment.marker == marker) return true;
  }
  return false;
}

/// Comments and application data, one after the other.
Buffer metadata(const Buffer& jpeg) {
  Buffer all;
  for (const Segment& segment : segments(jpeg)) {
    if (segment.marker < 0xE0) continue;
    all.insert(all.end(), segment.bytes.begin(), segment.bytes.end());
  }
  return all;
}

Buffer with_segment(const Buffer& jpeg, int marker, std::size_t length, std::mt19937& random) {
  Buffer segment{std::byte{0xFF}, static_cast<std::byte>(marker), static_cast<std::byte>((length + 2) >> 8),
                 static_cast<std::byte>(length + 2)};
  for (std::size_t i = 0; i < length; ++i) segment.push_back(static_cast<std::byte>(random()));
  Buffer out(jpeg.begin(), jpeg.begin() + k_soi_bytes);
  out.insert(out.end(), segment.begin(), segment.end());
  out.insert(out.end(), jpeg.begin() + k_soi_bytes, jpeg.end());
  return out;
}

}  // namespace

TEST_CASE("JPEGs of every kind keep their pixels and metadata when they are written again") {
  std::mt19937 random(1);
  const std::vector<std::vector<Sampling>> samplings = {
      {{1, 1}},
      {{1, 1}, {1, 1}, {1, 1}},
      {{2, 1}, {1, 1}, {1, 1}},
      {{2, 2}, {1, 1}, {1, 1}},
      {{1, 2}, {1, 1}, {1, 1}},
      {{2, 2}, {2, 1}, {1, 1}},
  };
  int written = 0;
  for (const auto& sampling : samplings) {
    for (const JpegSample::Scans scans :
         {JpegSample::Scans::one, JpegSample::Scans::separate, JpegSample::Scans::progressive}) {
      for (const bool transformed : {true, false}) {
        JpegSample sample{.width = 20 + static_cast<std::uint32_t>(random() % 100),
                          .height = 20 + static_cast<std::uint32_t>(random() % 100),
                          .sampling = sampling,
                          .transformed = transformed,
                          .quality = 30 + static_cast<int>(random() % 70),
                          .restart_interval = static_cast<int>(random() % 3)};
        sample.scans = scans;
        Buffer jpeg = make_jpeg(sample, random);
        jpeg = with_segment(jpeg, 0xE2, 3000, random);
        jpeg = with_segment(jpeg, 0xE1, 65533, random);
        jpeg = with_segment(jpeg, 0xFE, 30, random);
        const Buffer result = make_jpeg_lossless(jpeg);
        if (result.empty()) {  // grew by too much, or pixels would be others
          CHECK(scans != JpegSample::Scans::one);
          continue;
        }
        ++written;
        CHECK(decode_image(result).rgb == decode_image(jpeg).rgb);
        CHECK(metadata(result) == metadata(jpeg));
        CHECK(has(result, k_sof0));
        CHECK_FALSE(has(result, k_dri));
        CHECK(make_jpeg_lossless(result).empty());  // as it should be already
      }
    }
  }
  CHECK(written > 30);
}

TEST_CASE("JPEGs that are odd are left as they are") {
  std::mt19937 random(2);
  const JpegSample sample{.width = 40, .height = 30};
  const Buffer jpeg = make_jpeg(sample, random);
  REQUIRE(!make_jpeg_lossless(jpeg).empty());
  Buffer longer = jpeg;
  longer.push_back(std::byte{0});
  CHECK(make_jpeg_lossless(longer).empty());
  for (std::size_t size = 0; size < jpeg.size(); size += 7) {
    CHECK(make_jpeg_lossless(bale::Bytes(jpeg).first(size)).empty());
  }
  JpegSample odd = sample;
  odd.arithmetic = true;
  CHECK(make_jpeg_lossless(make_jpeg(odd, random)).empty());
  odd = sample;
  odd.sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  CHECK(make_jpeg_lossless(make_jpeg(odd, random)).empty());
  odd = sample;
  odd.scans = JpegSample::Scans::unrefined;  // libjpeg estimates what such files do not tell
  CHECK(make_jpeg_lossless(make_jpeg(odd, random)).empty());
  odd = sample;
  odd.optimized = true;
  CHECK(make_jpeg_lossless(make_jpeg(odd, random)).empty());
  CHECK(make_jpeg_lossless(bale::test::make_png({.width = 9, .height = 9}, random)).empty());
  CHECK(make_jpeg_lossless({}).empty());
}

TEST_CASE("A JPEG that is damaged is left as it is, or keeps the pixels that it has") {
  std::mt19937 random(3);
  JpegSample sample{.width = 60, .height = 50};
  for (int round = 0; round < 300; ++round) {
    sample.scans = round % 2 == 0 ? JpegSample::Scans::progressive : JpegSample::Scans::one;
    Buffer jpeg = make_jpeg(sample, random);
    bale::test::flip_bits(jpeg, 1, random);
    const Buffer result = make_jpeg_lossless(jpeg);
    if (!result.empty()) CHECK(decode_image(result).rgb == decode_image(jpeg).rgb);
  }
}
