// Huffman tables of a baseline JPEG (T.81, annex C and F.2.2), made for decoding fast; internal.
//
// A probe of the next eleven bits gives whole coefficients: run, sign and value are in the table where code and value
// fit into the bits, and of AC coefficients two where both fit.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/jpeg/jpeg_guard.hpp"

namespace bale::image_detail {

constexpr int k_probe_bits = 11;
constexpr std::size_t k_probes = std::size_t{1} << k_probe_bits;

/// Symbols one at a time, codes of any length.
class HuffmanCodes {
 public:
  /// False where the table is not one that every decoder reads alike.
  bool build(const JHUFF_TBL& table);

  /// Length of the first code in `bits`, which start at the top, << 8 | its symbol; 0 where there is none. It is known
  /// not to be shorter than `first_length`.
  std::uint32_t symbol(std::uint64_t bits, std::uint32_t first_length) const;

 private:
  std::array<std::uint32_t, 17> end_{};           // by length: where its codes end, in 16 bits
  std::array<std::uint32_t, 17> first_symbol_{};  // by length: index of its first symbol less its first code
  std::array<std::uint8_t, 256> symbols_{};
};

/// What a probe finds: one or two coefficients, or the block's end after at most one. Where it is one, it stands there
/// twice. DC differences are coefficients at place 0.
///
/// Two words, in tables of their own: where to read on is what the next probe waits for, and its table is small enough
/// to stay in the nearest cache; the coefficients nobody waits for.
using ProbeMove = std::uint16_t;
using ProbeValues = std::uint64_t;
namespace probe_entry {
/// Added to what a place moves on by: the block ends, and the entry holds nothing. Places are below 64, so bit 7 of a
/// sum says that the block has ended well, and bit 6 that it takes another look.
constexpr std::uint32_t k_end = 128;
constexpr std::uint32_t k_nothing = 192;
constexpr std::uint32_t k_look_again = 64;

/// In bits, of codes and values; 0 where they do not fit.
inline std::uint32_t length(ProbeMove move) { return move & 0xFF; }
/// By how many coefficients the place moves on.
inline std::uint32_t advance(ProbeMove move) { return move >> 8 & 0xFF; }
inline std::uint32_t first_place(ProbeValues values) { return values & 0xFF; }
inline std::uint32_t second_place(ProbeValues values) { return values >> 8 & 0xFF; }
inline std::int16_t first_value(ProbeValues values) { return static_cast<std::int16_t>(values >> 16); }
inline std::int16_t second_value(ProbeValues values) { return static_cast<std::int16_t>(values >> 32); }
/// Of an entry that holds nothing: length of the code << 8 | symbol, where the code alone fits, else 0.
inline std::uint32_t long_symbol(ProbeValues values) { return values & 0xFFFF; }
}  // namespace probe_entry

struct ProbeEntries {
  std::array<ProbeMove, k_probes> moves;
  std::array<ProbeValues, k_probes> values;
};

struct ProbeTable : ProbeEntries {
  HuffmanCodes codes;

  /// False where the table is not for us.
  bool build_dc(const JHUFF_TBL& table);
  bool build_ac(const JHUFF_TBL& table);
};

/// The value of `size` bits at the top of `bits`, 0 to 15 of them: T.81, table F.1. Without a branch, as signs cannot
/// be foretold.
inline std::int32_t extended_value(std::uint64_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
  const std::int32_t negative = static_cast<std::int32_t>(bits >> 63) - 1;
  return value - (((1 << size) - 1) & negative);
}

}  // namespace bale::image_detail
