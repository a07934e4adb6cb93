// Whatever the bytes of an image: without its metadata it decodes to the same pixels, or as little as before; and its
// metadata go into another image that stays what it was.
#include <cstdlib>
#include <optional>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

std::optional<bale::Image> decoded(bale::Bytes bytes) {
  try {
    return bale::decode_image(bytes, std::uint64_t{1} << 16);
  } catch (const bale::Error&) {
    return std::nullopt;
  }
}

bool same(const std::optional<bale::Image>& a, const std::optional<bale::Image>& b) {
  if (!a || !b) return !a == !b;
  return a->width == b->width && a->height == b->height && a->rgb == b->rgb;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const bale::Image k_image{.width = 8, .height = 8, .rgb = std::vector<std::uint8_t>(192, 99)};
  static const std::vector<std::byte> k_fresh[] = {bale::encode_jpeg(k_image, 80), bale::encode_png(k_image)};
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  const int orientation = bale::exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) std::abort();
  const std::optional<bale::Image> before = decoded(bytes);
  if (before && bale::apply_orientation(*before, orientation).rgb.size() != before->rgb.size()) std::abort();
  try {
    const std::vector<std::byte> stripped = bale::strip_metadata(bytes);
    if (stripped.size() > size + 2) std::abort();  // an end marker may be put in
    if (!stripped.empty() && !same(before, decoded(stripped))) std::abort();
    for (const std::vector<std::byte>& fresh : k_fresh) {
      for (const bool oriented : {false, true}) {
        const std::vector<std::byte> full = bale::with_metadata_of(bytes, oriented, fresh);
        if (!same(decoded(fresh), decoded(full))) std::abort();
        if (oriented && full.size() != fresh.size() && bale::exif_orientation(full) != 1) std::abort();
      }
    }
  } catch (const bale::Error&) {
  }
  return 0;
}
