#include "bale/formats/image/image_end.hpp"

#include <cstring>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/byte_reader.hpp"
#include "bale/formats/image/image_pieces.hpp"

namespace bale::image_detail {

// T.81, B.1.1.5: a byte FF of the data is followed by 00; restart markers stand between its parts.
bool jpeg_scan_has_end(Bytes scan) {
  constexpr std::uint32_t k_rst0 = 0xD0;
  constexpr std::uint32_t k_rst7 = 0xD7;
  constexpr std::uint32_t k_eoi = 0xD9;
  const ByteReader in(scan);
  for (std::size_t at = 0; in.has(at, 2);) {
    const void* const found = std::memchr(in.data() + at, 0xFF, in.size() - 1 - at);
    if (found == nullptr) return false;
    at = static_cast<std::size_t>(static_cast<const unsigned char*>(found) - in.data()) + 1;
    const std::uint32_t code = in.u8(at);
    if (code == k_eoi) return true;
    const bool is_data = code == 0 || (code >= k_rst0 && code <= k_rst7);
    if (!is_data && code != 0xFF) return false;
    if (is_data) ++at;
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
