// A PBM's, PGM's or PPM's header, and its values as 8 bits, as Pillow's PpmImagePlugin reads them; internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {

/// Of a number in text: Pillow's limit.
inline constexpr std::size_t k_max_pnm_digits = 10;

struct PnmHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 1;
  std::uint32_t max_value = 1;
  bool is_text = false;    // P1, P2, P3
  bool is_bitmap = false;  // P1, P4: 1 is black
  std::size_t offset = 0;  // of the pixels
};

/// Throws `damaged` or `unsupported`.
PnmHeader read_pnm_header(Bytes bytes);

/// White space as Pillow and Python understand it.
inline bool is_pnm_space(std::uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Values from 0 to the header's largest one as 8 bits: Pillow computes round(value / max_value * 255), a half to even.
/// Gray above 8 bits becomes 16 bits first, and is then limited to 255. A value that is too large counts as 255.
class PnmScale {
 public:
  explicit PnmScale(const PnmHeader& header);
  std::uint8_t operator()(std::uint32_t value) const { return value < table_.size() ? table_[value] : 255; }

 private:
  std::vector<std::uint8_t> table_;
};

/// Pixels of a PNM as text.
/// Fills width * height * 3 bytes. Throws `damaged`.
void read_pnm_text(Bytes text, const PnmHeader& header, std::uint8_t* rgb);

}  // namespace bale::image_detail
