// Whatever the bytes of an .npy: its header is read or refused, as an image it has its pixels within the bytes, and as
// a shard it is listed and read or refused.
#include <cstdlib>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale {
extern const Format k_npy_format;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  if (const auto header = bale::parse_array_header(bytes)) {
    if (header->data_offset > size || header->shape.size() > 64) std::abort();
    bale::num_elements(*header);
  }
  try {
    bale::ImageDecoder decoder;
    const bale::ImageHeader image = decoder.open(bytes);
    if (image.kind == bale::ImageKind::array) {
      const bale::PixelView view = decoder.read({.width = image.width, .height = image.height});
      const std::uint64_t pixel_bytes = std::uint64_t{image.width} * image.height * 3;
      if (view.rgb < data || pixel_bytes > size || view.rgb + pixel_bytes != data + size) std::abort();
    }
  } catch (const bale::Error&) {
  }
  bale::test::scan_and_read(bale::k_npy_format,
                            bale::test::MemoryFile({reinterpret_cast<const char*>(data), size}).path());
  return 0;
}
