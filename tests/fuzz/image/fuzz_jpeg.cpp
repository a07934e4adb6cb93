// Whatever the bytes, both JPEG decoders give the same pixels of a region, or both refuse for the same reason; with
// seek points of the image as well, and with any others. Forged ones, whose checksums are mended, may give other
// pixels, but stay inside of memory. The region is drawn from the first eight bytes, what is done to seek points from
// the next four, the JPEG follows.
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/tests/fuzz/image/jpeg_regions.hpp"

namespace {

using namespace bale::test;
using bale::image_detail::BaselineUse;

/// Decodes the image side by side with a good one, which must come out well whatever the other is.
void decode_beside_another(bale::ImageDecoder& decoder, const bale::Region& region) {
  static const std::vector<std::byte> other = [] {
    bale::Image noise{.width = 40, .height = 30, .rgb = std::vector<std::uint8_t>(40 * 30 * 3)};
    std::mt19937 random(1);
    for (std::uint8_t& value : noise.rgb) value = static_cast<std::uint8_t>(random() % 256);
    return bale::encode_jpeg(noise, 80);
  }();
  const bale::Region whole{.width = 40, .height = 30};
  static bale::ImageDecoder partner;
  const auto pixels_of = [](const bale::PixelView& view) {
    return std::vector<std::uint8_t>(view.rgb, view.rgb + view.height * view.stride);
  };
  static const std::vector<std::uint8_t> expected = [&] {
    partner.open(other);
    return pixels_of(partner.read(whole));
  }();
  partner.open(other);
  bale::ImageDecoder::decode_ahead({&decoder, region}, {&partner, whole});
  require(pixels_of(partner.read(whole)) == expected);
}

/// Some bytes changed, or cut off; more of them further back, where the points are.
Record changed(Record record, std::mt19937& random) {
  const std::size_t first = random() % 4 == 0 || record.size() <= 12 ? 0 : 12;
  for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
    record[first + random() % (record.size() - first)] = static_cast<std::byte>(random());
  }
  if (random() % 8 == 0) record.resize(1 + random() % record.size());
  return record;
}

void mend_checksum(Record& record) {
  if (record.size() < 4) return;
  const std::uint32_t crc = bale::crc32c(bale::Bytes(record).subspan(4));
  std::memcpy(record.data(), &crc, sizeof crc);
}

void check_seek_points(bale::ImageDecoder& decoder, const unsigned char* head, bale::Bytes jpeg,
                       const Result& expected) {
  const std::uint32_t bytes_between = head[8] % 4 == 0 ? 100 : 0;
  const Record record = bale::make_seek_points(jpeg, bytes_between);
  if (record.empty()) return;
  require(expected.error.empty());  // seek points are made of what decodes well only
  require(decode(decoder, BaselineUse::automatic, head, jpeg, record) == expected);
  if (head[8] % 2 == 0) require(decode(decoder, BaselineUse::plain, head, jpeg, record) == expected);
  std::mt19937 random(static_cast<std::uint32_t>(head[9] << 16 | head[10] << 8 | head[11]));
  Record hostile = changed(record, random);
  const std::size_t size = hostile.size();
  if (hostile != record) require(decode(decoder, BaselineUse::automatic, head, jpeg, hostile) == expected);
  mend_checksum(hostile);
  const Result forged =
      decode(decoder, head[8] % 3 == 0 ? BaselineUse::plain : BaselineUse::automatic, head, jpeg, hostile);
  require(size == hostile.size() && forged.error.empty() && forged.pixels.size() == expected.pixels.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < k_head_bytes) return 0;
  const bale::Bytes jpeg(reinterpret_cast<const std::byte*>(data + k_head_bytes), size - k_head_bytes);
  if (bale::probe_image(jpeg).kind != bale::ImageKind::jpeg) return 0;
  static bale::ImageDecoder ours;
  static bale::ImageDecoder theirs;
  const Result expected = decode(theirs, BaselineUse::never, data, jpeg);
  require(decode(ours, BaselineUse::automatic, data, jpeg) == expected);
  require(decode(ours, BaselineUse::plain, data, jpeg) == expected);
  require(decode(ours, BaselineUse::automatic, data, jpeg, {}, decode_beside_another) == expected);
  check_seek_points(ours, data, jpeg, expected);
  return 0;
}
