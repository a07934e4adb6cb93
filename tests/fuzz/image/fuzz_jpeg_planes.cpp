// Whatever the bytes of JPEG planes, whose checksums are made right: they are restored or refused, and a region is
// decoded or refused. What is restored has the pixels that its planes have, and comes back when it is packed again.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"
#include "bale/formats/image/jpeg/planes/planes_pixels.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/fuzz/image/jpeg_regions.hpp"
#include "bale/tests/support/planes_checksums.hpp"

namespace {

using namespace bale::image_detail;
using bale::test::require;
using Buffer = std::vector<std::byte>;

bool is_restored(const Buffer& stored, Buffer& original) {
  static PlanesRestorer restorer;
  original.clear();
  try {
    restorer.restore(stored, original);
  } catch (const bale::Error&) {
    return false;
  }
  return true;
}

/// The pixels of the region that `head` draws; none if they are refused, or left to the restored original.
std::vector<std::uint8_t> pixels_of(const Buffer& stored, const unsigned char* head) {
  static PlanesHeader header;
  static PlanesPixels pixels;
  std::vector<std::uint8_t> rgb;
  try {
    header.open(stored);
    if (header.is_verbatim()) return {};
    JpegDecoder jpeg;
    jpeg.open(header.head());
    if (std::uint64_t{jpeg.width()} * jpeg.height() > bale::test::k_max_pixels) return {};
    if (!pixels.open(header, jpeg.info())) return {};
    const bale::Region region = bale::test::draw(head, jpeg.width(), jpeg.height());
    rgb.resize(std::size_t{region.width} * region.height * 3);
    if (!pixels.decode(region, rgb.data())) return {};
  } catch (const bale::Error&) {
    return {};
  }
  return rgb;
}

/// With those of the restored original.
void compare_pixels(const Buffer& original, const unsigned char* head, const std::vector<std::uint8_t>& rgb,
                    const bale::test::Result& of_field) {
  static bale::ImageDecoder decoder;
  const auto expected = bale::test::decode(decoder, BaselineUse::never, head, original);
  if (!expected.opened || !expected.error.empty()) return;
  if (!rgb.empty()) require(expected.pixels == rgb);
  if (of_field.error.empty()) require(expected.pixels == of_field.pixels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < bale::test::k_head_bytes) return 0;
  const auto* const first = reinterpret_cast<const std::byte*>(data) + bale::test::k_head_bytes;
  Buffer stored(first, first + (size - bale::test::k_head_bytes));
  const std::vector<std::string> targets = bale::simd_targets();
  bale::limit_simd(targets[data[8] % targets.size()]);
  assume_slow_deposits(data[9] % 2 != 0);
  bale::test::fix_checksums(stored);
  Buffer original;
  // A restored file that is another one makes the field's own.
  if (!is_restored(stored, original) && !original.empty()) {
    bale::test::set_original(stored, Buffer(original));
    is_restored(stored, original);
  }
  const bool restored = is_restored(stored, original);
  const std::vector<std::uint8_t> rgb = pixels_of(stored, data);
  static bale::ImageDecoder decoder;
  const auto of_field = bale::test::decode(decoder, BaselineUse::automatic, data, stored);
  if (!restored) return 0;
  compare_pixels(original, data, rgb, of_field);
  static PlanesPacker packer;
  const auto packed = packer.pack(original, ~std::size_t{0});
  const bale::Bytes again = packed ? *packed : packer.pack_verbatim(original);
  Buffer twice;
  require(is_restored(Buffer(again.begin(), again.end()), twice) && twice == original);
  return 0;
}
