// Whatever the bytes, an image's header is read within them and its pixels decode within the budget or are refused.
#include <cstdlib>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 16;
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  bale::probe_image(bytes);
  try {
    const bale::Image image = bale::decode_image(bytes, k_max_pixels);
    if (std::uint64_t{image.width} * image.height > k_max_pixels) std::abort();
    if (image.rgb.size() != std::size_t{image.width} * image.height * 3) std::abort();
    const bale::Image small = bale::decode_thumbnail(bytes, 16);
    if (small.rgb.size() != std::size_t{small.width} * small.height * 3) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
