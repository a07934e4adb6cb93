// Reads integers from header bytes after a bounds check; internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// Borrows the bytes. `has` is the only bounds check: call it before any of the reads below it.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : data_(as_uchar(bytes)), size_(bytes.size()) {}

  std::size_t size() const { return size_; }
  const unsigned char* data() const { return data_; }
  bool has(std::size_t at, std::size_t length) const { return at <= size_ && length <= size_ - at; }
  bool matches(std::size_t at, std::string_view text) const {
    return has(at, text.size()) && std::memcmp(data_ + at, text.data(), text.size()) == 0;
  }

  std::uint32_t u8(std::size_t at) const { return data_[at]; }
  std::uint32_t le16(std::size_t at) const { return u8(at) | u8(at + 1) << 8; }
  std::uint32_t be16(std::size_t at) const { return u8(at) << 8 | u8(at + 1); }
  std::uint32_t le24(std::size_t at) const { return le16(at) | u8(at + 2) << 16; }
  std::uint32_t le32(std::size_t at) const { return le16(at) | le16(at + 2) << 16; }
  std::uint32_t be32(std::size_t at) const { return be16(at) << 16 | be16(at + 2); }

 private:
  const unsigned char* data_;
  std::size_t size_;
};

/// Whether a file of boxes (ISO/IEC 14496-12), as AVIF and JPEG XL are, is complete.
/// Whether the bytes end where a box ends. A last box of size 0 has no end of its own: false.
inline bool boxes_have_end(Bytes bytes) {
  const ByteReader in(bytes);
  std::size_t at = 0;
  while (in.has(at, 8)) {
    std::uint64_t size = in.be32(at);
    if (size == 1) {
      if (!in.has(at, 16)) return false;
      size = std::uint64_t{in.be32(at + 8)} << 32 | in.be32(at + 12);
    }
    if (size < 8 || size > in.size() - at) return false;
    at += size;
  }
  return at == in.size() && at != 0;
}

}  // namespace bale::image_detail
