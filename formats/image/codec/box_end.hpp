// Whether a file of boxes (ISO/IEC 14496-12), as AVIF and JPEG XL are, is complete; internal.
#pragma once

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {

/// Whether the bytes end where a box ends. A last box of size 0 has no end of its own: false.
inline bool boxes_have_end(Bytes bytes) {
  const ByteReader in(bytes);
  std::size_t at = 0;
  while (in.has(at, 8)) {
    std::uint64_t size = in.be32(at);
    if (size == 1) {
      if (!in.has(at, 16)) return false;
      size = std::uint64_t{in.be32(at + 8)} << 32 | in.be32(at + 12);
    }
    if (size < 8 || size > in.size() - at) return false;
    at += size;
  }
  return at == in.size() && at != 0;
}

}  // namespace bale::image_detail
