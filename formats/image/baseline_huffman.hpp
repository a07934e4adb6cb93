// Huffman tables of a baseline JPEG (T.81, annex C and F.2.2), made for decoding fast; internal.
//
// A probe of the next eleven bits gives whole coefficients: run, sign and value are in the table where code and value
// fit into the bits, and of AC coefficients two where both fit.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/jpeg_guard.hpp"

namespace bale::image_detail {

constexpr int k_probe_bits = 11;
constexpr std::size_t k_probes = std::size_t{1} << k_probe_bits;

/// Symbols one at a time, codes of any length.
class HuffmanCodes {
 public:
  /// False where the table is not one that every decoder reads alike.
  bool build(const JHUFF_TBL& table);

  /// Length of the first code in `bits`, which start at the top, << 8 | its symbol; 0 where there is none.
  std::uint32_t symbol(std::uint64_t bits) const;

 private:
  std::array<std::uint32_t, 17> end_{};           // by length: where its codes end, in 16 bits
  std::array<std::uint32_t, 17> first_symbol_{};  // by length: index of its first symbol less its first code
  std::array<std::uint8_t, 256> symbols_{};
};

/// What a probe finds: one or two coefficients, or the block's end after at most one. Where it is one, it stands there
/// twice. DC differences are coefficients at place 0.
using ProbeEntry = std::uint64_t;
namespace probe_entry {
/// Added to what a place moves on by: the block ends, and the entry holds nothing. Places are below 64, so bit 7 of a
/// sum says that the block has ended well, and bit 6 that it takes another look.
constexpr std::uint32_t k_end = 128;
constexpr std::uint32_t k_nothing = 192;
constexpr std::uint32_t k_look_again = 64;

/// In bits, of codes and values; 0 where they do not fit.
inline std::uint32_t length(ProbeEntry entry) { return entry & 0xFF; }
/// By how many coefficients the place moves on.
inline std::uint32_t advance(ProbeEntry entry) { return entry >> 8 & 0xFF; }
inline std::uint32_t first_place(ProbeEntry entry) { return entry >> 16 & 0xFF; }
inline std::uint32_t second_place(ProbeEntry entry) { return entry >> 24 & 0xFF; }
/// Of an entry that holds nothing: length of the code << 8 | symbol, where the code alone fits, else 0.
inline std::uint32_t long_symbol(ProbeEntry entry) { return entry >> 16 & 0xFFFF; }
inline std::int16_t first_value(ProbeEntry entry) { return static_cast<std::int16_t>(entry >> 32); }
inline std::int16_t second_value(ProbeEntry entry) { return static_cast<std::int16_t>(entry >> 48); }
}  // namespace probe_entry

struct ProbeTable {
  std::array<ProbeEntry, k_probes> entries;
  HuffmanCodes codes;

  /// False where the table is not for us.
  bool build_dc(const JHUFF_TBL& table);
  bool build_ac(const JHUFF_TBL& table);

 private:
  using Singles = std::array<ProbeEntry, k_probes>;
  template <typename EntryOf>
  static void spread(const JHUFF_TBL& table, Singles& to, const EntryOf& entry_of);
};

/// The value of `size` bits at the top of `bits`, 0 to 15 of them: T.81, table F.1. Without a branch, as signs cannot be
/// foretold.
inline std::int32_t extended_value(std::uint64_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
  const std::int32_t negative = static_cast<std::int32_t>(bits >> 63) - 1;
  return value - (((1 << size) - 1) & negative);
}

}  // namespace bale::image_detail
