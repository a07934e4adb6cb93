#include "bale/formats/base/codec/compression.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

/// lzma has no signature. Its header as `lzma` writes it has the default properties, a dictionary of 64 KiB or a larger
/// power of two, and a size that is unknown or below 2^40.
bool is_lzma(std::string_view text) {
  if (text.size() < 14 || text[0] != 0x5d || text[1] != 0 || text[2] != 0) return false;
  const std::string_view size = text.substr(5, 8);
  const bool unknown = size == "\xff\xff\xff\xff\xff\xff\xff\xff";
  return (unknown || size.substr(5) == std::string_view("\0\0\0", 3)) && text[13] == 0;
}

/// RFC 1950: deflate with the largest window, at one of four levels. Two bytes are not a signature: small numbers of 64
/// bits may begin so, and end in zeros.
bool is_zlib(std::string_view text) {
  if (text.size() < 8 || text[0] != 'x' || text.substr(4, 4) == std::string_view("\0\0\0\0", 4)) return false;
  return text[1] == '\x01' || text[1] == '\x5e' || text[1] == '\x9c' || text[1] == '\xda';
}

}  // namespace

bool begins_like_zstd(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\x28\xb5\x2f\xfd")) return true;
  return text.size() >= 4 && (static_cast<unsigned char>(text[0]) & 0xF0U) == 0x50 &&
         text.substr(1).starts_with("\x2a\x4d\x18");
}

Compression compression_of(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\x1f\x8b")) return Compression::gzip;
  if (begins_like_zstd(head)) return Compression::zstd;
  if (text.starts_with("BZh")) return Compression::bzip2;
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return Compression::xz;
  if (text.starts_with("LZIP")) return Compression::lzip;
  if (text.starts_with("\x04\x22\x4d\x18") || text.starts_with("\x02\x21\x4c\x18")) return Compression::lz4;
  if (text.starts_with("\x1f\x9d")) return Compression::compress;
  if (is_lzma(text)) return Compression::lzma;
  return is_zlib(text) ? Compression::zlib : Compression::none;
}

std::string_view name_of(Compression compression) {
  constexpr std::string_view k_names[] = {"no compression", "gzip", "zlib", "zstd",    "bzip2", "xz",
                                          "lzma",           "lzip", "lz4",  "compress"};
  return k_names[static_cast<std::size_t>(compression)];
}

void refuse_compressed(const std::string& path, Bytes head) {
  const Compression compression = compression_of(head);
  if (compression == Compression::none) return;
  throw Error(ErrorCode::unsupported, fmt::format("the whole file is compressed by {}", name_of(compression)),
              {.path = path,
               .hint = "decompress it first, or write it again without compression; compressed archives are known by "
                       "their extensions"});
}

}  // namespace bale
