#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {

ImageHeader probe_jpeg(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::jpeg};
  for (std::size_t at = jpeg_marker::next(in, 2); in.has(at, 2); at = jpeg_marker::next(in, at)) {
    const std::uint32_t marker = in.u8(at + 1);
    at += 2;
    if (jpeg_marker::is_alone(marker)) continue;
    if (marker == jpeg_marker::k_sos || marker == jpeg_marker::k_eoi || marker == jpeg_marker::k_soi) break;
    if (!in.has(at, 2)) break;
    const std::uint32_t length = in.be16(at);
    if (jpeg_marker::is_frame_header(marker)) {
      // Length, precision (1), height (2), width (2), number of components (1): T.81, B.2.2.
      if (length < 8 || !in.has(at, 8)) break;
      header.height = in.be16(at + 3);
      header.width = in.be16(at + 5);
      header.channels = in.u8(at + 7);
      break;
    }
    if (length < 2 || !in.has(at, length)) break;
    at += length;
  }
  return header;
}

}  // namespace bale::image_detail
