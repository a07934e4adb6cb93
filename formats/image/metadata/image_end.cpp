#include "bale/formats/image/metadata/image_pieces.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {

bool jpeg_scan_has_end(Bytes scan) {
  const ByteReader in(scan);
  for (std::size_t at = jpeg_marker::next(in, 0); at < in.size(); at = jpeg_marker::next(in, at + 2)) {
    const std::uint32_t marker = in.u8(at + 1);
    if (!jpeg_marker::is_restart(marker)) return marker == jpeg_marker::k_eoi;
  }
  return false;
}

bool pieces_have_end(Bytes image) {
  try {
    return image_pieces(image).has_end;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace bale::image_detail
