// plain_jpeg_scan(): what it says of a JPEG's header is what libjpeg says.
#include <cstring>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tests/unit/image/image_samples.hpp"

using bale::image_detail::JpegDecoder;
using bale::image_detail::plain_jpeg_scan;
using bale::test::JpegSample;
using bale::test::make_jpeg;

namespace {

enum class Answer { plain, asks_libjpeg, wrong };

Answer answer_of(bale::Bytes image) {
  const auto scan = plain_jpeg_scan(image);
  if (!scan) return Answer::asks_libjpeg;
  try {
    JpegDecoder decoder;
    decoder.open(image);
    const bale::Bytes expected = decoder.scan();
    const bool same = scan->data() == expected.data() && scan->size() == expected.size();
    return same && !decoder.reads_all_scans() ? Answer::plain : Answer::wrong;
  } catch (const bale::Error&) {
    return Answer::wrong;
  }
}

std::vector<JpegSample> sequential_samples() {
  std::vector<JpegSample> samples{{}, {.width = 500, .height = 375}, {.width = 33, .height = 7, .restart_interval = 2}};
  samples.push_back({.width = 40, .height = 30, .sampling = {{1, 1}}});
  samples.push_back({.width = 40, .height = 30, .sampling = {{2, 1}, {1, 1}, {1, 1}}, .optimized = true});
  samples.push_back({.width = 9, .height = 70, .sampling = {{1, 1}, {1, 1}, {1, 1}}, .transformed = false});
  samples.push_back({.width = 20, .height = 20, .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}}});
  return samples;
}

}  // namespace

TEST_CASE("the scan of an ordinary JPEG is found without libjpeg") {
  std::mt19937 random(1);
  for (const JpegSample& sample : sequential_samples()) CHECK(answer_of(make_jpeg(sample, random)) == Answer::plain);
}

TEST_CASE("JPEGs of other processes, or in several scans, are left to libjpeg") {
  std::mt19937 random(2);
  using Scans = JpegSample::Scans;
  for (const Scans scans : {Scans::separate, Scans::progressive, Scans::unrefined}) {
    CHECK(answer_of(make_jpeg({.width = 40, .height = 30, .scans = scans}, random)) == Answer::asks_libjpeg);
  }
  CHECK(answer_of(make_jpeg({.width = 40, .height = 30, .arithmetic = true}, random)) == Answer::asks_libjpeg);
  CHECK(answer_of({}) == Answer::asks_libjpeg);
}

TEST_CASE("no header that was changed or cut gets another answer than libjpeg's") {
  std::mt19937 random(3);
  std::size_t num_plain = 0;
  const int tries = bale::test::by_tier(3'000, 300'000);
  for (const JpegSample& sample : sequential_samples()) {
    const std::vector<std::byte> image = make_jpeg(sample, random);
    const std::size_t header = image.size() - plain_jpeg_scan(image).value().size();
    for (int i = 0; i < tries; ++i) {
      std::vector<std::byte> changed = image;
      for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
        std::byte& at = changed[random() % header];
        at = random() % 2 == 0 ? static_cast<std::byte>(random()) : at ^ static_cast<std::byte>(1U << random() % 8);
      }
      if (random() % 8 == 0) changed.resize(random() % (header + 1));
      const Answer answer = answer_of(changed);
      REQUIRE(answer != Answer::wrong);
      num_plain += answer == Answer::plain ? 1 : 0;
    }
  }
  CHECK(num_plain > 0);
}
