#include "bale/formats/image/metadata/image_pieces.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {
namespace {

using namespace jpeg_marker;

constexpr std::string_view k_exif{"Exif\0\0", 6};
constexpr std::string_view k_xmp{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::string_view k_png_signature{"\x89PNG\r\n\x1A\n", 8};

[[noreturn]] void fail(std::string_view what) { throw Error(ErrorCode::damaged, what); }

/// The end of the entropy-coded data at `at`: the next marker that is not a restart marker (T.81, B.1.1.5).
std::size_t end_of_scan(const ByteReader& in, std::size_t at) {
  for (at = jpeg_marker::next(in, at); at < in.size(); at = jpeg_marker::next(in, at + 2)) {
    if (!jpeg_marker::is_alone(in.u8(at + 1))) return at;
  }
  return in.size();
}

/// Sets what the segment with `length` bytes of data at `data` is for.
void classify_segment(const ByteReader& in, std::uint32_t marker, std::size_t data, std::size_t length, Piece& piece) {
  const auto starts_with = [&](std::string_view text) { return length >= text.size() && in.matches(data, text); };
  if (marker != k_com && (marker < k_app0 || marker > k_app15)) return;
  if (marker == k_app14 && starts_with("Adobe")) return;
  if (marker == k_app0 && starts_with("JFIF")) return;
  piece.use = PieceUse::metadata;
  if (marker == k_app0 && starts_with("JFXX")) piece.use = PieceUse::extra;
  if (marker == k_app2 && starts_with("ICC_PROFILE")) piece.use = PieceUse::profile;
  if (marker != k_app1) return;
  if (starts_with(k_exif)) {
    piece.kind = PieceContent::exif;
    piece.content = data + k_exif.size();
  } else if (starts_with(k_xmp)) {
    piece.kind = PieceContent::xmp;
    piece.content = data + k_xmp.size();
  }
  piece.content_end = data + length;
}

/// The segment at `at`, which has a length. After the first scan, one cut off by the file's end counts as a piece.
Piece jpeg_segment(const ByteReader& in, std::size_t at, bool has_scan) {
  const std::uint32_t marker = in.u8(at + 1);
  Piece piece{.begin = at, .end = in.size()};
  const std::size_t length = in.has(at, 4) ? in.be16(at + 2) : 0;
  if (length >= 2 && in.has(at + 2, length)) {
    piece.end = at + 2 + length;
  } else if (!has_scan) {
    fail(in.has(at, 4) ? "JPEG: a segment ends beyond the file" : "JPEG: ends before its pixels");
  }
  const std::size_t data = std::min(at + 4, piece.end);
  classify_segment(in, marker, data, piece.end - data, piece);
  if (marker == k_sos) piece.end = end_of_scan(in, piece.end);
  // Decoders do not look for metadata after the first scan, so none are taken over from there.
  if (has_scan && piece.use != PieceUse::picture) piece.use = PieceUse::extra;
  if (piece.use == PieceUse::extra) piece.kind = PieceContent::other;
  return piece;
}

ImagePieces jpeg_pieces(const ByteReader& in) {
  ImagePieces out{.kind = ImageKind::jpeg, .pieces = {{.begin = 0, .end = 2}}, .insert_at = 2, .end = in.size()};
  bool has_scan = false;
  for (std::size_t at = 2;;) {
    at = jpeg_marker::next(in, at);
    if (at == in.size()) {
      if (!has_scan) fail("JPEG: ends before its pixels");
      return out;
    }
    const std::uint32_t marker = in.u8(at + 1);
    if (jpeg_marker::is_alone(marker) || marker == k_soi || marker == k_eoi) {
      out.pieces.push_back({.begin = at, .end = at + 2});
      if (marker == k_eoi && has_scan) {
        out.end = at + 2;
        out.has_end = true;
        return out;
      }
    } else {
      out.pieces.push_back(jpeg_segment(in, at, has_scan));
      has_scan = has_scan || marker == k_sos;
      // JFIF's segment comes before all others.
      if (marker == k_app0 && out.pieces.size() == 2 && out.pieces.back().use == PieceUse::picture) {
        out.insert_at = out.pieces.back().end;
      }
    }
    at = out.pieces.back().end;
  }
}

template <std::size_t k_count>
bool is_one_of(const ByteReader& in, std::size_t type, const std::array<std::string_view, k_count>& types) {
  return std::any_of(types.begin(), types.end(), [&](std::string_view one) { return in.matches(type, one); });
}

/// Sets what the chunk whose type is at `type` is for. An upper-case first letter: the picture needs it (PNG, 5.4).
void classify_chunk(const ByteReader& in, std::size_t type, Piece& piece) {
  static constexpr std::array<std::string_view, 3> k_text{"tEXt", "zTXt", "iTXt"};
  static constexpr std::array<std::string_view, 7> k_profile{"iCCP", "sRGB", "gAMA", "cHRM", "cICP", "mDCV", "cLLI"};
  static constexpr std::array<std::string_view, 8> k_picture{"tRNS", "sBIT", "bKGD", "hIST",
                                                             "pHYs", "acTL", "fcTL", "fdAT"};
  piece.content = type;
  piece.content_end = piece.end - 4;
  if (is_one_of(in, type, k_text)) {
    piece.use = PieceUse::metadata;
    piece.kind = PieceContent::png_text;
  } else if (in.matches(type, "eXIf")) {
    piece.use = PieceUse::metadata;
    piece.kind = PieceContent::exif;
    piece.content = type + 4;
  } else if (in.matches(type, "tIME")) {
    piece.use = PieceUse::metadata;
  } else if (is_one_of(in, type, k_profile)) {
    piece.use = PieceUse::profile;
  } else if ((in.u8(type) & 0x20) != 0 && !is_one_of(in, type, k_picture)) {
    piece.use = PieceUse::extra;
  }
}

ImagePieces png_pieces(const ByteReader& in) {
  const std::size_t first = k_png_signature.size();
  ImagePieces out{.kind = ImageKind::png, .pieces = {{.begin = 0, .end = first}}, .insert_at = first};
  for (std::size_t at = first; in.has(at, 1);) {
    if (!in.has(at, 12)) fail("PNG: a chunk ends beyond the file");
    const std::size_t length = in.be32(at);
    if (!in.has(at + 8, length) || !in.has(at + 8 + length, 4)) fail("PNG: a chunk ends beyond the file");
    Piece piece{.begin = at, .end = at + 12 + length};
    classify_chunk(in, at + 4, piece);
    out.pieces.push_back(piece);
    out.end = at = piece.end;
    if (in.matches(piece.begin + 4, "IHDR")) out.insert_at = piece.end;
    out.has_end = in.matches(piece.begin + 4, "IEND");
    if (out.has_end) break;
  }
  if (out.pieces.size() == 1) fail("PNG: ends before its pixels");
  return out;
}

}  // namespace

ImagePieces image_pieces(Bytes image) {
  const ByteReader in(image);
  if (in.matches(0, "\xFF\xD8")) return jpeg_pieces(in);
  if (in.matches(0, k_png_signature)) return png_pieces(in);
  return {};
}

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
