// The only code that walks a TIFF directory, for TIFF files and for EXIF.
//
// TIFF 6.0, section 2: byte order, 42, the offset of the first directory: a count, entries of 12 bytes (tag, type,
// count, value or its offset), the offset of the next directory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {

/// The first directory of bytes that begin with the byte order. Borrows the bytes.
class TiffDirectory {
 public:
  static constexpr std::size_t k_entry_bytes = 12;

  TiffDirectory(const ByteReader& in, bool big_endian) : in_(in), big_endian_(big_endian) {
    if (!in_.has(4, 4)) return;
    count_at_ = u32(4);
    if (!in_.has(count_at_, 2)) return;
    entries_ = u16(count_at_);
    const std::size_t room = (in_.size() - count_at_ - 2) / k_entry_bytes;
    whole_ = in_.has(count_at_ + 2, entries_ * k_entry_bytes + 4);
    entries_ = std::min(entries_, room);
  }

  const ByteReader& in() const { return in_; }
  bool big_endian() const { return big_endian_; }
  std::size_t count_at() const { return count_at_; }
  std::size_t entries() const { return entries_; }  // entries inside the bytes
  bool whole() const { return whole_; }             // all entries are, and the next directory's offset
  /// Offset of an entry.
  std::size_t entry(std::size_t i) const { return count_at_ + 2 + i * k_entry_bytes; }
  std::uint32_t tag(std::size_t i) const { return u16(entry(i)); }
  std::uint32_t type(std::size_t i) const { return u16(entry(i) + 2); }

  std::uint32_t u16(std::size_t at) const { return big_endian_ ? in_.be16(at) : in_.le16(at); }
  std::uint32_t u32(std::size_t at) const { return big_endian_ ? in_.be32(at) : in_.le32(at); }
  std::uint64_t u64(std::size_t at) const {
    const std::uint64_t first = u32(at);
    const std::uint64_t second = u32(at + 4);
    return big_endian_ ? first << 32 | second : second << 32 | first;
  }

 private:
  ByteReader in_;
  bool big_endian_;
  bool whole_ = false;
  std::size_t count_at_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace bale::image_detail
