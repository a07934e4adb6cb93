// A JPEG or PNG file as a sequence of pieces: a JPEG's segments and scans, a PNG's chunks; internal.
//
// Boundaries are those that decoders see. libjpeg skips bytes between two segments that belong to neither of them, so
// such bytes are in no piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail {

/// What a piece is for.
enum class PieceUse : std::uint8_t {
  picture,   // pixels, and how they are coded or shown
  metadata,  // data about the picture
  profile,   // metadata that apply to one kind of colors only
  extra,     // everything else: private chunks, previews, and metadata after the first scan
};

/// What may state the orientation in a piece, from `content` on.
enum class PieceContent : std::uint8_t { other, exif, xmp, png_text };

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  PieceUse use = PieceUse::picture;
  PieceContent kind = PieceContent::other;
  std::size_t content = 0;      // where an EXIF segment's TIFF structure, an XMP packet or a PNG chunk's type begins
  std::size_t content_end = 0;  // PNG: before the checksum
};

struct ImagePieces {
  ImageKind kind = ImageKind::unknown;  // jpeg, png, or unknown for all other kinds
  std::vector<Piece> pieces{};
  std::size_t insert_at = 0;  // where metadata may be inserted
  std::size_t end = 0;        // of the image; cameras append previews, videos and more
  bool has_end = false;       // a JPEG's end marker, a PNG's IEND
};

/// Throws `damaged` if a JPEG ends before its pixels, or a segment or chunk ends after the end of the file.
ImagePieces image_pieces(Bytes image);

/// Whether an image's bytes are complete up to its end.
/// Whether the end marker directly follows the entropy-coded data that begins with `scan`. If not, the image may be cut
/// off, and only decoding all of it can tell. Bytes after the end do not matter.
bool jpeg_scan_has_end(Bytes scan);

/// Whether the file's pieces (image_pieces.hpp) continue up to the end marker or IEND.
bool pieces_have_end(Bytes image);

}  // namespace bale::image_detail
