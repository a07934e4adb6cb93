// ITU-T T.81, annex B: a JPEG is a row of markers (FF xx, any number of FF before xx), most of them
// followed by a segment that opens with its own length (2 bytes, big-endian, counting themselves).
#include "bale/formats/image/probe_jpeg.hpp"

namespace bale::image_detail {
namespace {

// Marker codes of T.81, table B.1.
constexpr std::uint32_t k_tem = 0x01;
constexpr std::uint32_t k_dht = 0xC4;
constexpr std::uint32_t k_jpg = 0xC8;
constexpr std::uint32_t k_dac = 0xCC;
constexpr std::uint32_t k_rst0 = 0xD0;
constexpr std::uint32_t k_rst7 = 0xD7;
constexpr std::uint32_t k_soi = 0xD8;
constexpr std::uint32_t k_eoi = 0xD9;
constexpr std::uint32_t k_sos = 0xDA;

bool is_frame_header(std::uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != k_dht && marker != k_jpg && marker != k_dac;
}

/// Offset of the code byte of the next marker at or after `at`; the size of the data where there is none.
/// Bytes between segments that belong to none are ignored, as libjpeg does.
std::size_t next_marker(const ByteReader& in, std::size_t at) {
  while (at < in.size()) {
    const void* found = std::memchr(in.data() + at, 0xFF, in.size() - at);
    if (found == nullptr) return in.size();
    at = static_cast<std::size_t>(static_cast<const unsigned char*>(found) - in.data());
    while (at < in.size() && in.u8(at) == 0xFF) ++at;
    if (at < in.size() && in.u8(at) != 0) return at;
  }
  return in.size();
}

}  // namespace

ImageHeader probe_jpeg(const ByteReader& in) {
  ImageHeader header{.kind = ImageKind::jpeg};
  for (std::size_t at = next_marker(in, 2); in.has(at, 1); at = next_marker(in, at)) {
    const std::uint32_t marker = in.u8(at);
    ++at;
    if (marker == k_tem || (marker >= k_rst0 && marker <= k_rst7)) continue;
    if (marker == k_sos || marker == k_eoi || marker == k_soi) break;
    if (!in.has(at, 2)) break;
    const std::uint32_t length = in.be16(at);
    if (is_frame_header(marker)) {
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
