// Damaged JPEG planes: every change is noticed or changes nothing, and what has the right checksums all the same does
// no harm.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/planes_checksums.hpp"
#include "bale/tests/support/tier.hpp"
#include "image_planes_support.hpp"

namespace {

using namespace bale::image_detail;
using namespace bale::test;

/// How many of all changes of one bit give another result than before, and how many of all cuts give one at all. An
/// empty result is a refusal.
template <typename Result>
std::size_t count_unnoticed(const Buffer& planes, const std::function<Result(const Buffer&)>& decode) {
  const auto result_of = [&](const Buffer& damaged) {
    Result result;
    decodes([&] { result = decode(damaged); });
    return result;
  };
  const Result expected = decode(planes);
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < planes.size() * 8; ++bit) {
    Buffer damaged = planes;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const Result result = result_of(damaged);
    if (!result.empty() && result != expected) ++unnoticed;
  }
  for (std::size_t size = 0; size < planes.size(); ++size) {
    if (!result_of(first_bytes(planes, size)).empty()) ++unnoticed;
  }
  return unnoticed;
}

/// The pixels; none if they are refused.
std::vector<std::uint8_t> pixels_of(PlanesDecoder& decoder, const Buffer& planes, const bale::Region& region) {
  Decoded result = decoder.decode(planes, region);
  return result.error.empty() ? std::move(result.pixels) : std::vector<std::uint8_t>();
}

/// With bytes after its end, or filled with zeros.
Buffer any_ending(const Buffer& jpeg, int number) {
  Buffer result = number % 3 == 1 ? filled_with_zeros(jpeg) : jpeg;
  if (number % 3 != 0) result.insert(result.end(), jpeg.begin(), jpeg.begin() + 50);
  return result;
}

/// A field whose header and rows are `planes`, but for one byte of a row.
Buffer with_another_row(const Buffer& planes, std::size_t at, std::byte value) {
  Buffer changed = planes;
  changed[planes.size() - k_plane_padding - 1 - at] = value;
  fix_checksums(changed);
  return changed;
}

}  // namespace

TEST_CASE("planes: every flipped bit and every cut is noticed, or the original comes back") {
  std::mt19937 random(4);
  for (int i = 0; i < by_tier(3, 40); ++i) {
    Buffer planes = packed(any_ending(make_jpeg(draw_planes_sample(random, 40), random), i));
    CHECK(count_unnoticed<Buffer>(planes, restored) == 0);
    planes.push_back(std::byte{0});
    CHECK(message_of([&] { restored(planes); }).find("its size is wrong") != std::string::npos);
  }
}

TEST_CASE("planes: every flipped bit and every cut is noticed, or the pixels are right") {
  std::mt19937 random(8);
  PlanesDecoder decoder;
  for (int i = 0; i < by_tier(3, 40); ++i) {
    const JpegSample sample = draw_planes_sample(random, 40);
    const Buffer planes = packed(any_ending(make_jpeg(sample, random), i));
    const bale::Region region = draw_region(random, sample.width, sample.height);
    REQUIRE_FALSE(pixels_of(decoder, planes, region).empty());
    CHECK(count_unnoticed<std::vector<std::uint8_t>>(
              planes, [&](const Buffer& damaged) { return pixels_of(decoder, damaged, region); }) == 0);
  }
}

TEST_CASE("planes: a bit of what is stored as it is does not change without notice") {
  const Buffer bytes(100, std::byte{'a'});
  PlanesPacker packer;
  const bale::Bytes stored = packer.pack_verbatim(bytes);
  CHECK(count_unnoticed<Buffer>(Buffer(stored.begin(), stored.end()), restored) == 0);
}

TEST_CASE("planes: a bit of what follows an image is noticed without restoring it") {
  std::mt19937 random(15);
  Buffer planes = packed(any_ending(make_jpeg({.width = 20, .height = 20}, random), 2));
  bale::check_planes(planes);
  planes[planes.size() - k_plane_padding - 1] ^= std::byte{1};
  CHECK(message_of([&] { bale::check_planes(planes); }).find("what follows the image") != std::string::npos);
}

TEST_CASE("planes: a row is refused if a block needs planes that it does not have") {
  bale::image_detail::BaselineFrame frame{.num_components = 1, .mcus_across = 2, .mcus_down = 1};
  PlaneDecoder decoder;
  decoder.open(frame);
  // No planes, no differences of DC; padding follows.
  std::vector<std::byte> row(5 + k_plane_padding);
  const bale::Bytes bytes = bale::Bytes(row).first(5);
  std::array<std::byte, 2> classes{};
  CHECK(decoder.decode_row(bytes, k_plane_padding, classes));
  for (std::uint32_t number = 1; number < 256; ++number) {
    classes[1] = static_cast<std::byte>(number);
    CHECK_FALSE(decoder.decode_row(bytes, k_plane_padding, classes));
  }
}

TEST_CASE(
    "planes: a progressive JPEG is refused if its scans leave out a bit, or a coefficient needs a code that its scan "
    "does not have") {
  std::mt19937 random(18);
  const Buffer planes = packed(make_jpeg({.width = 40, .height = 8, .scans = JpegSample::Scans::progressive}, random));
  PlanesHeader header;
  header.open(planes);
  const bale::Bytes head = header.head();
  JpegDecoder decoder;
  decoder.open(head);
  ProgressiveScans scans;
  std::size_t last_scan = 0;  // where it begins
  std::size_t end_before = 0;
  const auto note = [&] {
    last_scan = std::exchange(end_before, head.size() - scans.data().size());
    return true;
  };
  REQUIRE(scans.open_without_data(decoder.info(), note));
  Buffer shorter(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(last_scan));
  shorter.insert(shorter.end(), head.end() - 2, head.end());
  decoder.open(shorter);
  CHECK_FALSE(scans.open_without_data(decoder.info(), [] { return true; }));

  decoder.open(head);
  const auto frame = progressive_frame(decoder.info());
  REQUIRE((frame && frame->mcus_down == 1 && scans.open(decoder.info())));
  ProgressiveEncoder encoder;
  encoder.open(false);
  REQUIRE(encoder.add_scan(scans));
  CoefficientPlanes coefficients;
  coefficients.open(*frame);
  coefficients.clear_row(0);
  *coefficients.planes()[0].block(0, 0) = 16000;
  encoder.add_row(coefficients);
  Buffer data;
  CHECK_FALSE(encoder.finish(0, data));
}

TEST_CASE("planes: the number of blocks of progressive JPEGs is limited") {
  std::mt19937 random(19);
  for (const auto scans : {JpegSample::Scans::progressive, JpegSample::Scans::one}) {
    const bool is_progressive = scans == JpegSample::Scans::progressive;
    Buffer jpeg = make_jpeg({.width = 8, .height = 8, .sampling = {{1, 1}}, .scans = scans}, random);
    const std::array<std::byte, 5> k_frame{std::byte{0xFF}, std::byte(is_progressive ? 0xC2 : 0xC0), std::byte{0},
                                           std::byte{11}, std::byte{8}};
    const auto height = std::search(jpeg.begin(), jpeg.end(), k_frame.begin(), k_frame.end()) + 5;
    for (const int rows : {128, 129}) {
      const std::array<std::byte, 4> k_size{static_cast<std::byte>(rows / 32), static_cast<std::byte>(rows * 8 % 256),
                                            std::byte{0xFF}, std::byte{0xD8}};  // 8,187 blocks across
      std::ranges::copy(k_size, height);
      JpegDecoder decoder;
      decoder.open(jpeg);
      CHECK(frame_of_planes(decoder.info(), is_progressive).has_value() == (!is_progressive || rows == 128));
    }
  }
}

TEST_CASE("planes: checksums are compared once, if the caller says that they are") {
  std::mt19937 random(12);
  Buffer planes = packed(make_jpeg({.width = 40, .height = 8, .sampling = {{1, 1}}}, random));
  planes[planes.size() - k_plane_padding - 1] ^= std::byte{1};
  PlanesHeader header;
  header.open(planes, true);
  CHECK_FALSE(header.row(0).empty());
  header.open(planes);
  CHECK(message_of([&] { header.row(0); }).find("the checksum of a row") != std::string::npos);
}

TEST_CASE("planes: rows that were changed and have the right checksums are not restored") {
  std::mt19937 random(9);
  const JpegSample sample{.width = 40, .height = 8, .sampling = {{1, 1}}};
  const Buffer jpeg = make_jpeg(sample, random);
  const Buffer planes = packed(jpeg);
  PlanesDecoder decoder;
  std::size_t refused = 0;
  std::size_t row_bytes = 150;
  for (std::size_t at = 0; at < row_bytes; ++at) {
    const Buffer changed = with_another_row(planes, at, static_cast<std::byte>(random() & 0xFF));
    if (changed == planes) continue;
    Buffer result;
    const bool comes_back = decodes([&] { result = restored(changed); });
    CHECK((!comes_back || result == jpeg));
    Decoded pixels;
    if (!decodes([&] { pixels = decoder.decode(changed, {0, 0, 40, 8}); }) || !pixels.error.empty()) ++refused;
  }
  CHECK(refused > 0);
}

TEST_CASE("planes: a header cannot ask for more memory than its rows need") {
  std::mt19937 random(10);
  const Buffer planes = packed(make_jpeg({.width = 640, .height = 640, .sampling = {{1, 1}}}, random));
  PlanesHeader header;
  header.open(planes);
  CHECK(message_of([&] { header.classes(0, 1u << 20); }).find("the number of blocks is wrong") != std::string::npos);
}
