// PNG text chunks (tEXt, zTXt, iTXt: PNG 11.3.4), unpacked and packed again; internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

struct PngText {
  std::string head;  // all bytes before the text: the chunk's type, the keyword, and fields of the type
  std::string text;
  bool compressed = false;
};

/// The keyword of a chunk that is given without length and checksum. Borrows from it.
std::string_view png_keyword(Bytes chunk);

/// Splits the chunk. nullopt if it does not have its type's form, or its text is longer than 16 MiB.
std::optional<PngText> unpack_png_text(Bytes chunk);

/// The chunk, without length and checksum.
std::string pack_png_text(const PngText& text);

}  // namespace bale::image_detail
