// How a JPEG is coded, from its markers. Nothing is decoded.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/bytes.hpp"

namespace bale {

struct JpegCoding {
  bool is_progressive = false;
  bool is_arithmetic = false;    // coded arithmetically, which browsers do not read
  std::uint32_t components = 0;  // 0: there is no frame header
  std::uint32_t luma_h = 1;      // sampling factors of the first component, relative to the second
  std::uint32_t luma_v = 1;
};

/// Never reads past `bytes`. All zero or false if they are no JPEG.
JpegCoding read_jpeg_coding(Bytes bytes);

/// "gray", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "4 components", else "other".
std::string sampling_name(const JpegCoding& coding);

}  // namespace bale
