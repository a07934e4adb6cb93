// Numbers in the bytes of JPEG planes (PLANES.md); internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale::image_detail {

/// Seven bits per byte, the lowest first; the highest bit of a byte says that another one follows.
inline void append_number(std::uint64_t number, std::vector<std::byte>& out) {
  for (; number > 0x7F; number >>= 7) out.push_back(static_cast<std::byte>(number | 0x80));
  out.push_back(static_cast<std::byte>(number));
}

inline void append_i16(std::int16_t number, std::vector<std::byte>& out) {
  out.push_back(static_cast<std::byte>(number & 0xFF));
  out.push_back(static_cast<std::byte>(static_cast<std::uint16_t>(number) >> 8));
}

inline void append_u32(std::uint32_t number, std::vector<std::byte>& out) {
  for (int i = 0; i < 4; ++i, number >>= 8) out.push_back(static_cast<std::byte>(number & 0xFF));
}

inline void append(Bytes bytes, std::vector<std::byte>& out) { out.insert(out.end(), bytes.begin(), bytes.end()); }

/// Takes numbers and bytes from the front. After one that is not there, nothing is.
class NumberReader {
 public:
  explicit NumberReader(Bytes bytes) : rest_(bytes) {}

  /// Numbers of up to 35 bits; 0 if there is none.
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (std::uint32_t shift = 0; shift < 35; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      number |= (byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    fail();
    return 0;
  }
  std::uint8_t u8() {
    const Bytes one = bytes(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::int16_t i16() {
    const Bytes two = bytes(2);
    return two.empty() ? std::int16_t{0}
                       : static_cast<std::int16_t>(static_cast<int>(two[0]) | static_cast<int>(two[1]) << 8);
  }
  std::uint32_t u32() {
    std::uint32_t number = 0;
    const Bytes four = bytes(4);
    for (std::size_t i = 0; i < four.size(); ++i) number |= static_cast<std::uint32_t>(four[i]) << 8 * i;
    return number;
  }
  Bytes bytes(std::uint64_t count) {
    if (count > rest_.size()) fail();
    if (failed_) return {};
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  Bytes rest() const { return rest_; }
  bool has_failed() const { return failed_; }

 private:
  void fail() {
    failed_ = true;
    rest_ = {};
  }

  Bytes rest_;
  bool failed_ = false;
};

}  // namespace bale::image_detail
