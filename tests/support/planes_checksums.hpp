// Makes the checksums of JPEG planes (PLANES.md) right again after a change, for tests of what is behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/jpeg/planes/plane_numbers.hpp"

namespace bale::test {

inline void write_u32(std::uint32_t number, std::byte* to) {
  for (int i = 0; i < 4; ++i, number >>= 8) to[i] = static_cast<std::byte>(number & 0xFF);
}

/// Of the header, of the rows and of the tail. Leaves bytes that are not such a field as they are.
inline void fix_checksums(std::vector<std::byte>& stored) {
  constexpr std::size_t k_signature_bytes = 4;
  image_detail::NumberReader reader(stored);
  const auto place = [&] { return stored.size() - reader.rest().size(); };
  reader.bytes(k_signature_bytes);
  const bool has_tail = reader.u8() >= 2;  // by its version
  reader.u8();
  reader.u32();
  reader.number();  // bytes of the original
  if (has_tail) reader.u8();
  const std::uint64_t tail_bytes = has_tail ? reader.number() : 0;
  const std::size_t tail_checksum_at = place();
  if (has_tail) reader.u32();
  reader.number();  // bytes of the head
  reader.bytes(reader.number());
  struct Row {
    std::size_t checksum_at;
    std::uint64_t size;
  };
  std::vector<Row> rows;
  for (std::uint64_t count = reader.number(); count > 0 && !reader.has_failed(); --count) {
    const std::uint64_t size = reader.number();
    rows.push_back({place(), size});
    reader.u32();
  }
  reader.bytes(reader.number());
  const std::size_t end = place();
  reader.u32();
  for (const Row& row : rows) {
    const Bytes bytes = reader.bytes(row.size);
    if (reader.has_failed()) break;
    write_u32(crc32c(bytes), stored.data() + row.checksum_at);
  }
  const Bytes tail = reader.bytes(tail_bytes);
  if (has_tail && !reader.has_failed()) write_u32(crc32c(tail), stored.data() + tail_checksum_at);
  if (end + 4 <= stored.size()) write_u32(crc32c(Bytes(stored).first(end)), stored.data() + end);
}

/// What the header says of the original.
inline void set_original(std::vector<std::byte>& stored, Bytes original) {
  constexpr std::size_t k_checksum_at = 6;
  if (stored.size() < k_checksum_at + 4) return;
  write_u32(crc32c(original), stored.data() + k_checksum_at);
  image_detail::NumberReader reader(Bytes(stored).subspan(k_checksum_at + 4));
  const std::size_t before = reader.rest().size();
  reader.number();
  std::vector<std::byte> number;
  image_detail::append_number(original.size(), number);
  const auto first = stored.begin() + k_checksum_at + 4;
  stored.insert(stored.erase(first, first + static_cast<std::ptrdiff_t>(before - reader.rest().size())), number.begin(),
                number.end());
  fix_checksums(stored);
}

}  // namespace bale::test
