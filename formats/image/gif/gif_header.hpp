// What precedes the pixels of a GIF's first frame, as Pillow's GifImagePlugin reads it; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

struct GifHeader {
  std::uint32_t width = 0;  // of the screen, or of what the first frame needs if that is larger
  std::uint32_t height = 0;
  Region frame{};
  bool interlaced = false;
  std::uint8_t background = 0;  // the index of pixels outside the frame
  bool transparent = false;     // whether pixels of this index are
  std::uint32_t code_bits = 0;  // of a color index
  std::size_t offset = 0;       // of the blocks with the pixels
  std::array<Rgb, 256> palette{};
};

/// Throws `damaged`.
GifHeader read_gif_header(Bytes bytes);

}  // namespace bale::image_detail
