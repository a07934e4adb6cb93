// Whatever the bytes of an .npy, it is refused or its pixels lie within them.
#include <cstdlib>

#include "bale/formats/hdf5/npy.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  const auto image = bale::h5::parse_npy_image(bytes);
  if (!image) return 0;
  if (image->pixels.size() != std::uint64_t{image->width} * image->height * 3) std::abort();
  if (image->pixels.data() < bytes.data() || image->pixels.data() + image->pixels.size() > bytes.data() + size) {
    std::abort();
  }
  return 0;
}
