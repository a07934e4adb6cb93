#include "bale/formats/tar/stream.hpp"

#include <array>

#include "bale/formats/base/error.hpp"
#include "bale/formats/tar/header.hpp"

namespace bale::tar {
namespace {

/// lzma has no signature. Its header as `lzma` writes it has the default properties, a dictionary of 64 KiB or a larger
/// power of two, and a size that is unknown or below 2^40.
bool is_lzma(std::string_view text) {
  if (text.size() < 14 || text[0] != 0x5d || text[1] != 0 || text[2] != 0) return false;
  const std::string_view size = text.substr(5, 8);
  const bool unknown = size == "\xff\xff\xff\xff\xff\xff\xff\xff";
  return (unknown || size.substr(5) == std::string_view("\0\0\0", 3)) && text[13] == 0;
}

}  // namespace

FileKind kind_of(Bytes head) {
  if (has_good_checksum(head)) return FileKind::plain;  // even if its first name looks like a signature
  const std::string_view text = as_text(head);
  if (text.starts_with("\x1f\x8b")) return FileKind::gzip;
  if (begins_like_zstd(head)) return FileKind::zstd;
  if (text.starts_with("BZh")) return FileKind::bzip2;
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return FileKind::xz;
  if (text.starts_with("LZIP")) return FileKind::lzip;
  if (text.starts_with("\x04\x22\x4d\x18") || text.starts_with("\x02\x21\x4c\x18")) return FileKind::lz4;
  if (text.starts_with("\x1f\x9d")) return FileKind::compress;
  if (is_lzma(text)) return FileKind::lzma;
  return FileKind::plain;
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::gzip:
      return "gzip";
    case FileKind::zstd:
      return "zstd";
    case FileKind::bzip2:
      return "bzip2";
    case FileKind::xz:
      return "xz";
    case FileKind::lzma:
      return "lzma";
    case FileKind::lzip:
      return "lzip";
    case FileKind::lz4:
      return "lz4";
    case FileKind::compress:
      return "compress";
    case FileKind::plain:
      break;
  }
  return "no compression";
}

bool needs_libarchive(FileKind kind) {
  return kind != FileKind::plain && kind != FileKind::gzip && kind != FileKind::zstd;
}

FileKind kind_of_file(const std::string& path) {
  std::array<std::byte, k_block_bytes> head;
  return kind_of(Bytes(head).first(File::open_read(path).read_some(0, head)));
}

std::unique_ptr<Stream> open_stream(const std::string& path, FileKind kind, FrameChecks checks) {
  switch (kind) {
    case FileKind::gzip:
      return open_gzip_stream(path);
    case FileKind::zstd:
      return open_zstd_stream(path, checks);
    default:
      return open_plain_stream(path);
  }
}

}  // namespace bale::tar
