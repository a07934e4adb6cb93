// A PNG's chunks of text (tEXt, zTXt, iTXt: PNG 11.3.4), unpacked and packed again; internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

struct PngText {
  std::string head;  // all that precedes the text: the chunk's type, the keyword, and what the type puts between
  std::string text;
  bool compressed = false;
};

/// The keyword of a chunk, given without its length and checksum. Borrows from it.
std::string_view png_keyword(Bytes chunk);

/// The chunk taken apart. Nothing if it does not follow its type's form, or its text is longer than 16 MiB.
std::optional<PngText> unpack_png_text(Bytes chunk);

/// The chunk, again without length and checksum.
std::string pack_png_text(const PngText& text);

}  // namespace bale::image_detail
