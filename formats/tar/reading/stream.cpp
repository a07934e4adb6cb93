#include "bale/formats/tar/reading/stream.hpp"

#include <array>

#include "bale/formats/base/error.hpp"
#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/libarchive_stream.hpp"

namespace bale::tar {
Compression compression_of_tar(Bytes head) {
  if (has_good_checksum(head)) return Compression::none;  // even if its first name looks like a signature
  const Compression found = compression_of(head);
  return found == Compression::zlib ? Compression::none : found;  // no program makes such tars
}

Compression compression_of_file(const std::string& path) {
  std::array<std::byte, k_block_bytes> head;
  return compression_of_tar(Bytes(head).first(File::open_read(path).read_some(0, head)));
}

std::unique_ptr<Stream> open_stream(const std::string& path, Compression kind, FrameChecks checks) {
  switch (kind) {
    case Compression::gzip:
      return open_gzip_stream(path);
    case Compression::zstd:
      return open_zstd_stream(path, checks);
    case Compression::none:
      return open_plain_stream(path);
    default:
      return open_filtered_stream(path);
  }
}

}  // namespace bale::tar
