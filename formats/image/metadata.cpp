#include "bale/formats/image/metadata.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/byte_reader.hpp"

namespace bale {
namespace {

using image_detail::ByteReader;

/// A stretch of the file: a JPEG's segment with its marker, a PNG's chunk with its frame.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool metadata = false;
  bool profile = false;  // of colours
  std::size_t exif = 0;  // where its TIFF structure begins; 0 where it is no EXIF
};

/// A JPEG's pieces up to the pixels, which begin where the last one ends; all of a PNG's.
struct Pieces {
  ImageKind kind = ImageKind::unknown;
  std::vector<Piece> pieces{};
  std::size_t insert_at = 0;  // where metadata may be put in
  std::size_t end = 0;        // of the image: cameras append thumbnails, films and what they like
};

// Marker codes of ITU-T T.81, table B.1. TEM and RST0..EOI stand alone, without a length.
constexpr std::uint32_t k_tem = 0x01;
constexpr std::uint32_t k_rst0 = 0xD0;
constexpr std::uint32_t k_rst7 = 0xD7;
constexpr std::uint32_t k_eoi = 0xD9;
constexpr std::uint32_t k_sos = 0xDA;
constexpr std::uint32_t k_app0 = 0xE0;
constexpr std::uint32_t k_app1 = 0xE1;
constexpr std::uint32_t k_app2 = 0xE2;
constexpr std::uint32_t k_app14 = 0xEE;
constexpr std::uint32_t k_app15 = 0xEF;
constexpr std::uint32_t k_com = 0xFE;
constexpr std::string_view k_exif{"Exif\0\0", 6};
constexpr std::string_view k_png_signature{"\x89PNG\r\n\x1A\n", 8};

[[noreturn]] void fail_pieces(std::string_view what) { throw Error(ErrorCode::damaged, what); }

/// Behind the end marker, from scan to scan beginning at the first; the file's end where none is found. Entropy-coded
/// data has no markers but restarts (T.81, B.1.1.5).
std::size_t end_of_jpeg(const ByteReader& in, std::size_t scan) {
  for (std::size_t at = scan; in.has(at, 2);) {
    const std::uint32_t marker = in.u8(at) == 0xFF ? in.u8(at + 1) : 0;
    if (marker == k_eoi) return at + 2;
    if (marker == 0 || marker == 0xFF) {
      ++at;
    } else if (marker == k_tem || (marker >= k_rst0 && marker <= k_rst7)) {
      at += 2;
    } else {
      if (!in.has(at, 4)) break;
      at += 2 + std::max(in.be16(at + 2), 2U);
    }
  }
  return in.size();
}

Pieces jpeg_pieces(const ByteReader& in) {
  Pieces out{.kind = ImageKind::jpeg, .insert_at = 2};
  for (std::size_t at = 2;;) {
    // Bytes between segments that belong to none stay with what follows them: libjpeg passes over them.
    std::size_t code = at;
    while (in.has(code, 2) && (in.u8(code) != 0xFF || in.u8(code + 1) == 0xFF || in.u8(code + 1) == 0)) ++code;
    if (!in.has(code, 4)) fail_pieces("JPEG: ends before its pixels");
    const std::uint32_t marker = in.u8(code + 1);
    if (marker == k_sos) {
      out.pieces.push_back({at, at});
      out.end = end_of_jpeg(in, code);
      return out;
    }
    if (marker == k_tem || (marker >= k_rst0 && marker <= k_eoi)) {
      out.pieces.push_back({at, code + 2});
      at = code + 2;
      continue;
    }
    const std::size_t length = in.be16(code + 2);
    if (length < 2 || !in.has(code + 2, length)) fail_pieces("JPEG: a segment ends beyond the file");
    Piece piece{at, code + 2 + length};
    const std::size_t data = code + 4;
    const bool jfif = marker == k_app0 && (in.matches(data, "JFIF") || in.matches(data, "JFXX"));
    const bool adobe = marker == k_app14 && in.matches(data, "Adobe");
    piece.metadata = marker == k_com || (marker >= k_app0 && marker <= k_app15 && !jfif && !adobe);
    piece.profile = marker == k_app2 && in.matches(data, "ICC_PROFILE");
    if (marker == k_app1 && length >= 2 + k_exif.size() && in.matches(data, k_exif)) piece.exif = data + k_exif.size();
    if (jfif && out.pieces.empty()) out.insert_at = piece.end;  // JFIF's segment comes first of all
    out.pieces.push_back(piece);
    at = piece.end;
  }
}

Pieces png_pieces(const ByteReader& in) {
  static constexpr std::array<std::string_view, 9> k_metadata{"tEXt", "zTXt", "iTXt", "eXIf", "tIME",
                                                              "iCCP", "sRGB", "gAMA", "cHRM"};
  Pieces out{.kind = ImageKind::png, .insert_at = k_png_signature.size()};
  for (std::size_t at = k_png_signature.size(); in.has(at, 1);) {
    if (!in.has(at, 12)) fail_pieces("PNG: a chunk ends beyond the file");
    const std::size_t length = in.be32(at);
    if (!in.has(at + 8, length) || !in.has(at + 8 + length, 4)) fail_pieces("PNG: a chunk ends beyond the file");
    const auto is = [&](std::string_view type) { return in.matches(at + 4, type); };
    Piece piece{at, at + 12 + length};
    piece.metadata = std::any_of(k_metadata.begin(), k_metadata.end(), is);
    piece.profile = is("iCCP") || is("sRGB") || is("gAMA") || is("cHRM");
    if (is("eXIf")) piece.exif = at + 8;
    if (is("IHDR")) out.insert_at = piece.end;
    const bool last = is("IEND");
    out.pieces.push_back(piece);
    out.end = at = piece.end;
    if (last) break;
  }
  if (out.pieces.empty()) fail_pieces("PNG: ends before its pixels");
  return out;
}

Pieces pieces_of(Bytes image) {
  const ByteReader in(image);
  if (in.matches(0, "\xFF\xD8")) return jpeg_pieces(in);
  if (in.matches(0, k_png_signature)) return png_pieces(in);
  return {};
}

/// The orientation's entry in the first directory of a TIFF structure (TIFF 6.0, section 2; EXIF 2.3, 4.6.4).
struct OrientationEntry {
  std::size_t count_at = 0;       // of the directory's number of entries
  std::size_t entry_at = 0;       // 12 bytes
  std::size_t directory_end = 0;  // behind the offset of the next directory
  bool big_endian = false;
  int value = 1;
};

std::optional<OrientationEntry> find_orientation(Bytes tiff) {
  const ByteReader in(tiff);
  OrientationEntry found{.big_endian = in.matches(0, std::string_view("MM\0*", 4))};
  if (!found.big_endian && !in.matches(0, std::string_view("II*\0", 4))) return std::nullopt;
  const auto u16 = [&](std::size_t at) { return found.big_endian ? in.be16(at) : in.le16(at); };
  if (!in.has(4, 4)) return std::nullopt;
  found.count_at = found.big_endian ? in.be32(4) : in.le32(4);
  if (!in.has(found.count_at, 2)) return std::nullopt;
  const std::size_t entries = u16(found.count_at);
  found.directory_end = found.count_at + 2 + entries * 12 + 4;
  constexpr std::uint32_t k_orientation = 0x0112;
  constexpr std::uint32_t k_short = 3;
  for (std::size_t i = 0; i < entries; ++i) {
    found.entry_at = found.count_at + 2 + i * 12;
    if (!in.has(found.entry_at, 12)) return std::nullopt;
    if (u16(found.entry_at) != k_orientation) continue;
    found.value = static_cast<int>(u16(found.entry_at + 8));
    const bool sensible = u16(found.entry_at + 2) == k_short && found.value >= 1 && found.value <= 8;
    return sensible ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

/// Takes an orientation out of a TIFF structure; false where there is none. What comes behind the directory stays where
/// it is: offsets refer to it.
bool drop_orientation(MutableBytes tiff) {
  const auto found = find_orientation(tiff);
  if (!found) return false;
  if (found->directory_end > tiff.size()) {
    // Cut off behind its entries: nothing can be moved, so it is made to say nothing.
    const std::size_t low = found->entry_at + (found->big_endian ? 9 : 8);
    tiff[low] = std::byte{1};
    return false;
  }
  const auto at = [&](std::size_t offset) { return tiff.begin() + static_cast<std::ptrdiff_t>(offset); };
  std::copy(at(found->entry_at + 12), at(found->directory_end), at(found->entry_at));
  std::fill(at(found->directory_end - 12), at(found->directory_end), std::byte{0});
  // The count is at least 1; its lower byte is the one that borrows.
  const std::size_t low = found->count_at + (found->big_endian ? 1 : 0);
  const std::size_t high = found->count_at + (found->big_endian ? 0 : 1);
  if (tiff[low] == std::byte{0}) tiff[high] = static_cast<std::byte>(static_cast<unsigned>(tiff[high]) - 1);
  tiff[low] = static_cast<std::byte>(static_cast<unsigned>(tiff[low]) - 1);
  return true;
}

void append(std::vector<std::byte>& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

/// A piece as it goes into another image; a PNG's chunk with its checksum made anew.
void append_without_orientation(std::vector<std::byte>& out, Bytes image, const Piece& piece, ImageKind kind) {
  const std::size_t begin = out.size();
  append(out, image.subspan(piece.begin, piece.end - piece.begin));
  const std::size_t tail = kind == ImageKind::png ? 4 : 0;
  const MutableBytes copy = MutableBytes(out).subspan(begin);
  const std::size_t exif = piece.exif - piece.begin;
  while (drop_orientation(copy.subspan(exif, copy.size() - exif - tail))) {
    // A second one would take the first one's place.
  }
  if (kind != ImageKind::png) return;
  const Bytes summed = copy.subspan(4, copy.size() - 8);
  const auto sum = static_cast<std::uint32_t>(crc32(0, as_uchar(summed), static_cast<uInt>(summed.size())));
  for (std::size_t i = 0; i < 4; ++i) copy[copy.size() - 4 + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
}

}  // namespace

int exif_orientation(Bytes image) {
  try {
    const Pieces found = pieces_of(image);
    for (const Piece& piece : found.pieces) {
      if (piece.exif == 0) continue;
      const std::size_t tail = found.kind == ImageKind::png ? 4 : 0;
      const auto entry = find_orientation(image.subspan(piece.exif, piece.end - tail - piece.exif));
      return entry ? entry->value : 1;
    }
  } catch (const Error&) {
    // Whoever decodes the image will say what is wrong with it.
  }
  return 1;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // 5 to 8 exchange rows and columns; where the output's (0, 0) comes from follows from the two mirrorings.
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image out{.width = transposed ? image.height : image.width, .height = transposed ? image.width : image.height};
  out.rgb.resize(image.rgb.size());
  std::uint8_t* to = out.rgb.data();
  for (std::uint32_t y = 0; y < out.height; ++y) {
    for (std::uint32_t x = 0; x < out.width; ++x, to += 3) {
      const std::uint32_t column = transposed ? y : x;
      const std::uint32_t row = transposed ? x : y;
      const std::size_t from_x = from_right ? image.width - 1 - column : column;
      const std::size_t from_y = from_bottom ? image.height - 1 - row : row;
      std::copy_n(image.rgb.data() + (from_y * image.width + from_x) * 3, 3, to);
    }
  }
  return out;
}

std::vector<std::byte> strip_metadata(Bytes image) {
  const Pieces found = pieces_of(image);
  if (found.kind == ImageKind::unknown) return {};
  const bool any =
      std::any_of(found.pieces.begin(), found.pieces.end(), [](const Piece& piece) { return piece.metadata; });
  if (!any && found.end == image.size()) return {};
  std::vector<std::byte> out;
  out.reserve(image.size());
  append(out, image.first(found.pieces.front().begin));
  for (const Piece& piece : found.pieces) {
    if (!piece.metadata) append(out, image.subspan(piece.begin, piece.end - piece.begin));
  }
  append(out, image.first(found.end).subspan(found.pieces.back().end));
  return out;
}

std::vector<std::byte> with_metadata_of(Bytes original, bool oriented, std::vector<std::byte> image) {
  const Pieces from = pieces_of(original);
  const Pieces to = pieces_of(image);
  if (from.kind != to.kind) return image;
  const bool same_colours = probe_image(original).channels == probe_image(image).channels;
  std::vector<std::byte> out;
  out.reserve(image.size() + original.size());
  append(out, Bytes(image).first(to.insert_at));
  for (const Piece& piece : from.pieces) {
    if (!piece.metadata || (piece.profile && !same_colours)) continue;
    if (piece.exif != 0 && oriented) {
      append_without_orientation(out, original, piece, from.kind);
    } else {
      append(out, original.subspan(piece.begin, piece.end - piece.begin));
    }
  }
  append(out, Bytes(image).subspan(to.insert_at));
  return out;
}

}  // namespace bale
