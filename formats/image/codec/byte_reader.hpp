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

}  // namespace bale::image_detail
