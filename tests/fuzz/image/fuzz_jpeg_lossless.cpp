// Whatever the bytes, a JPEG is transcoded to the same bytes by our own code and by libjpeg, or both leave it as it is.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/jpeg_lossless.hpp"

using bale::image_detail::BaselineUse;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 14;  // larger images only take longer
  const bale::Bytes jpeg(reinterpret_cast<const std::byte*>(data), size);
  if (bale::probe_image(jpeg).kind != bale::ImageKind::jpeg) return 0;
  bale::image_detail::set_baseline_use(BaselineUse::never);
  const std::vector<std::byte> expected = bale::make_jpeg_lossless(jpeg, k_max_pixels);
  static bale::JpegLossless lossless;
  for (const BaselineUse use : {BaselineUse::automatic, BaselineUse::plain}) {
    bale::image_detail::set_baseline_use(use);
    if (!std::ranges::equal(lossless.make(jpeg, k_max_pixels), expected)) std::abort();
  }
  return 0;
}
