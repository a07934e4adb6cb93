// Huffman tables of a baseline JPEG (T.81, annex C and F.2.2), made for decoding fast; internal.
//
// A probe of the next ten bits gives whole coefficients: run, sign and value are in the table where code and value fit
// into the bits, and of AC coefficients two where both fit.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/jpeg_guard.hpp"

namespace bale::image_detail {

constexpr int k_probe_bits = 10;
constexpr std::size_t k_probes = std::size_t{1} << k_probe_bits;

/// Symbols one at a time, codes of any length.
class HuffmanCodes {
 public:
  /// False where the table is not one that every decoder reads alike.
  bool build(const JHUFF_TBL& table);

  /// Length of the first code in `bits`, which start at the top, << 8 | its symbol; 0 where there is none.
  std::uint32_t symbol(std::uint64_t bits) const {
    const std::uint32_t found = short_[bits >> (64 - k_probe_bits)];
    return found != 0 ? found : long_symbol(static_cast<std::uint32_t>(bits >> 48));
  }
  std::uint32_t short_symbol(std::size_t probe) const { return short_[probe]; }

 private:
  std::uint32_t long_symbol(std::uint32_t bits16) const;

  std::array<std::uint16_t, k_probes> short_;     // length << 8 | symbol, 0 where the code is longer
  std::array<std::uint32_t, 17> end_{};           // by length: where its codes end, in 16 bits
  std::array<std::uint32_t, 17> first_symbol_{};  // by length: index of its first symbol less its first code
  std::array<std::uint8_t, 256> symbols_{};
};

/// DC differences. An entry: length in bits of code and value, 0 where they do not fit; value in the upper half.
struct DcTable {
  bool build(const JHUFF_TBL& table);

  HuffmanCodes codes;
  std::array<std::uint32_t, k_probes> entries;
};

/// AC coefficients. An entry holds one or two of them; where it holds one, it stands there twice.
struct AcTable {
  using Entry = std::uint64_t;
  /// Of code and value; 0 where they do not fit.
  static std::uint32_t length(Entry entry) { return entry & 0xFF; }
  /// By how many coefficients the place moves on; 64 more where the block ends or the entry holds nothing.
  static std::uint32_t advance(Entry entry) { return entry >> 8 & 0xFF; }
  static std::uint32_t first_place(Entry entry) { return entry >> 16 & 0xFF; }
  static std::uint32_t second_place(Entry entry) { return entry >> 24 & 0xFF; }
  static std::int16_t first_value(Entry entry) { return static_cast<std::int16_t>(entry >> 32); }
  static std::int16_t second_value(Entry entry) { return static_cast<std::int16_t>(entry >> 48); }

  bool build(const JHUFF_TBL& table);

  HuffmanCodes codes;
  std::array<Entry, k_probes> entries;
};

/// The value of `size` bits at the top of `bits`, 1 to 15 of them: T.81, table F.1.
inline std::int32_t extended_value(std::uint64_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits >> (64 - size));
  const bool positive = bits >> 63 != 0;
  return positive ? value : value - ((1 << size) - 1);
}

}  // namespace bale::image_detail
