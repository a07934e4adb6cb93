#include "bale/formats/image/metadata/orientation.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <zlib.h>

#include "bale/formats/image/metadata/tiff_directory.hpp"
#include "bale/formats/image/png/png_text.hpp"

namespace bale::image_detail {
namespace {

constexpr std::string_view k_name = "tiff:Orientation";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The end of an element (<tiff:Orientation>6</tiff:Orientation>) whose name begins at `name`, or `npos`.
std::size_t end_of_element(std::string_view packet, std::size_t name) {
  const std::size_t tag_end = packet.find('>', name);
  if (tag_end == std::string_view::npos) return tag_end;
  if (packet[tag_end - 1] == '/') return tag_end + 1;
  const std::size_t close = packet.find('<', tag_end);
  if (close == std::string_view::npos || packet.substr(close + 1, 1 + k_name.size()) != "/tiff:Orientation") {
    return std::string_view::npos;
  }
  const std::size_t end = packet.find('>', close);
  return end == std::string_view::npos ? end : end + 1;
}

/// The end of an attribute (tiff:Orientation="6") whose name begins at `name`, or `npos`.
std::size_t end_of_attribute(std::string_view packet, std::size_t name) {
  std::size_t at = name + k_name.size();
  const auto skip_space = [&] {
    while (at < packet.size() && is_space(packet[at])) ++at;
  };
  skip_space();
  if (at >= packet.size() || packet[at] != '=') return std::string_view::npos;
  ++at;
  skip_space();
  if (at >= packet.size() || (packet[at] != '"' && packet[at] != '\'')) return std::string_view::npos;
  const std::size_t end = packet.find(packet[at], at + 1);
  return end == std::string_view::npos ? end : end + 1;
}

}  // namespace

int read_xmp_orientation(std::string_view packet) {
  for (std::size_t at = packet.find(k_name); at != std::string_view::npos; at = packet.find(k_name, at + 1)) {
    std::string_view rest = packet.substr(at + k_name.size());
    const std::size_t sign = rest.substr(0, 2) == "=\"" ? 2 : rest.substr(0, 1) == ">" ? 1 : 0;
    if (sign == 0 || rest.size() <= sign || !is_digit(rest[sign])) continue;
    const int value = rest[sign] - '0';
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

void drop_xmp_orientation(std::string& packet) {
  for (std::size_t at = packet.find(k_name); at != std::string::npos; at = packet.find(k_name, at + 1)) {
    const char before = at == 0 ? '\0' : packet[at - 1];
    std::size_t begin = at;
    std::size_t end = std::string::npos;
    if (before == '<') {
      begin = at - 1;
      end = end_of_element(packet, at);
    } else if (is_space(before)) {
      end = end_of_attribute(packet, at);
    }
    const auto place = [&](std::size_t offset) { return packet.begin() + static_cast<std::ptrdiff_t>(offset); };
    if (end != std::string::npos) {
      std::fill(place(begin), place(end), ' ');
      continue;
    }
    // No known form of XML; Pillow would still read a digit here as an orientation.
    std::size_t digit = at + k_name.size();
    while (digit < packet.size() && (packet[digit] == '=' || packet[digit] == '"' || packet[digit] == '>')) ++digit;
    if (digit < packet.size() && is_digit(packet[digit])) packet[digit] = '1';
  }
}

namespace {

constexpr std::string_view k_raw_exif = "Raw profile type exif";
constexpr std::string_view k_xmp_keyword = "XML:com.adobe.xmp";

Bytes content_of(Bytes image, const Piece& piece) {
  return image.subspan(piece.content, piece.content_end - piece.content);
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// ImageMagick's text form of a profile: an empty line, its name, its length, then its bytes as hexadecimal digits.
class RawProfile {
 public:
  explicit RawProfile(std::string& text) : text_(text) {
    std::size_t at = 0;
    for (int line = 0; line < 3; ++line) {
      at = text.find('\n', at);
      if (at == std::string::npos) return;
      ++at;
    }
    std::vector<std::size_t> digits;
    for (; at < text.size(); ++at) {
      if (nibble(text[at]) >= 0) digits.push_back(at);
    }
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      digits_.push_back({digits[i], digits[i + 1]});
      bytes_.push_back(static_cast<std::byte>(nibble(text[digits[i]]) * 16 + nibble(text[digits[i + 1]])));
    }
  }

  std::vector<std::byte>& bytes() { return bytes_; }

  /// Writes changed bytes over their digits.
  void store() {
    static constexpr std::string_view k_digits = "0123456789abcdef";
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const auto value = static_cast<unsigned>(bytes_[i]);
      text_[digits_[i].first] = k_digits[value >> 4];
      text_[digits_[i].second] = k_digits[value & 15];
    }
  }

 private:
  std::string& text_;
  std::vector<std::pair<std::size_t, std::size_t>> digits_{};
  std::vector<std::byte> bytes_{};
};

/// What Pillow has found after reading the whole file. A JPEG's EXIF segments are joined; of everything else, the last
/// one counts.
struct FoundMetadata {
  std::optional<std::vector<std::byte>> exif{};
  std::optional<std::string> raw_exif{};
  std::string xmp{};
};

void note_text(Bytes chunk, FoundMetadata& found) {
  const std::string_view keyword = png_keyword(chunk);
  if (keyword != k_raw_exif && keyword != k_xmp_keyword) return;
  std::optional<PngText> text = unpack_png_text(chunk);
  if (!text) return;
  if (keyword == k_raw_exif) {
    found.raw_exif = std::move(text->text);
  } else {
    found.xmp = std::move(text->text);
  }
}

FoundMetadata find(Bytes image, const ImagePieces& from) {
  FoundMetadata found;
  for (const Piece& piece : from.pieces) {
    if (piece.kind == PieceContent::other) continue;
    const Bytes content = content_of(image, piece);
    if (piece.kind == PieceContent::png_text) {
      note_text(content, found);
    } else if (piece.kind == PieceContent::xmp) {
      found.xmp = as_text(content);
    } else {
      if (!found.exif || from.kind == ImageKind::png) found.exif.emplace();
      found.exif->insert(found.exif->end(), content.begin(), content.end());
    }
  }
  return found;
}

/// Drops the orientation from a text profile that holds EXIF or XMP, whatever its name says.
void drop_from_raw_profile(std::string& text) {
  RawProfile profile(text);
  drop_exif_orientation(profile.bytes());
  std::string packet(as_text(profile.bytes()));
  drop_xmp_orientation(packet);
  std::copy(as_bytes(packet).begin(), as_bytes(packet).end(), profile.bytes().begin());
  profile.store();
}

/// The chunk's type and data without an orientation; nullopt if there is none to drop.
std::optional<std::string> text_without_orientation(Bytes chunk) {
  const std::string_view keyword = png_keyword(chunk);
  const bool raw = keyword.substr(0, k_raw_exif.size() - 4) == k_raw_exif.substr(0, k_raw_exif.size() - 4);
  if (!raw && keyword != k_xmp_keyword) return std::nullopt;
  std::optional<PngText> text = unpack_png_text(chunk);
  if (!text) return std::nullopt;
  const std::string before = text->text;
  if (raw) {
    drop_from_raw_profile(text->text);
  } else {
    drop_xmp_orientation(text->text);
  }
  if (text->text == before) return std::nullopt;
  return pack_png_text(*text);
}

void append_bytes(std::vector<std::byte>& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_be32(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}

/// Appends a PNG chunk of that type and data.
void append_chunk(std::vector<std::byte>& out, std::string_view chunk) {
  append_be32(out, chunk.size() - 4);
  append_bytes(out, as_bytes(chunk));
  append_be32(out, crc32(0, as_uchar(as_bytes(chunk)), static_cast<uInt>(chunk.size())));
}

}  // namespace

int read_orientation(Bytes image, const ImagePieces& pieces) {
  FoundMetadata found = find(image, pieces);
  std::optional<int> stated;
  if (found.exif) {
    stated = read_exif_orientation(*found.exif);
  } else if (found.raw_exif) {
    stated = read_exif_orientation(RawProfile(*found.raw_exif).bytes());
  }
  return stated ? *stated : read_xmp_orientation(found.xmp);
}

void append_without_orientation(std::vector<std::byte>& out, Bytes image, const Piece& piece, ImageKind kind) {
  std::string bytes(as_text(image.subspan(piece.begin, piece.end - piece.begin)));
  if (piece.kind == PieceContent::png_text) {
    const std::optional<std::string> text = text_without_orientation(content_of(image, piece));
    if (text) return append_chunk(out, *text);
  } else if (piece.kind != PieceContent::other) {
    std::string content(as_text(content_of(image, piece)));
    if (piece.kind == PieceContent::exif) {
      drop_exif_orientation({reinterpret_cast<std::byte*>(content.data()), content.size()});
    } else {
      drop_xmp_orientation(content);
    }
    bytes.replace(piece.content - piece.begin, content.size(), content);
    if (kind == ImageKind::png) return append_chunk(out, std::string_view(bytes).substr(4, bytes.size() - 8));
  }
  append_bytes(out, as_bytes(bytes));
}

namespace {

constexpr std::uint32_t k_xmp_tag = 700;

}  // namespace

int tiff_orientation(Bytes tiff) {
  const ByteReader in(tiff);
  const bool big_endian = in.matches(0, "MM");
  if (!in.has(0, 4) || (big_endian ? in.be16(2) : in.le16(2)) != 42) return 1;
  if (const auto stated = read_exif_orientation(tiff)) return *stated;
  const TiffDirectory directory(in, big_endian);
  for (std::size_t i = 0; i < directory.entries(); ++i) {
    if (directory.tag(i) != k_xmp_tag) continue;
    const std::size_t length = directory.u32(directory.entry(i) + 4);
    const std::size_t at = directory.u32(directory.entry(i) + 8);
    if (in.has(at, length)) return read_xmp_orientation(as_text(tiff.subspan(at, length)));
  }
  return 1;
}

}  // namespace bale::image_detail
