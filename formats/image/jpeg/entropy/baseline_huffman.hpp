// Huffman tables of a baseline JPEG (T.81, annex C and F.2.2) for fast decoding; internal.
//
// A probe of the next ten bits finds whole coefficients. The table holds run, sign and value if code and value fit
// into the bits, and two AC coefficients if both fit.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

namespace bale::image_detail {

constexpr int k_probe_bits = 10;
constexpr std::size_t k_probes = std::size_t{1} << k_probe_bits;
/// The most bits of a coefficient whose code and sign, but not all of its value, are within a probe.
constexpr int k_entry_bits = 18;

/// Decodes one symbol at a time, with codes of any length.
class HuffmanCodes {
 public:
  /// False if decoders may read the table differently.
  bool build(const JHUFF_TBL& table);

  /// The first code in `bits`, from the top bit on: its length << 8 | its symbol, 0 if there is none. Without branches
  /// that depend on the bits.
  std::uint32_t symbol(std::uint64_t bits) const {
    const auto next = static_cast<std::uint16_t>(bits >> 48);
    // The codes of a length begin where the shorter ones end.
    std::uint16_t shorter = 0;
    for (const std::uint16_t end : ends_) shorter += next >= end ? 1 : 0;
    const std::uint32_t length = std::uint32_t{shorter} + 1;
    if (length > ends_.size()) return 0;
    return length << 8 | symbols_[(first_symbol_[shorter] + (next >> (ends_.size() - length))) & 0xFF];
  }

 private:
  // By length minus one.
  std::array<std::uint16_t, 16> ends_{};          // of its codes, in 16 bits
  std::array<std::uint32_t, 16> first_symbol_{};  // index of its first symbol minus its first code
  std::array<std::uint8_t, 256> symbols_{};
};

/// What a probe finds: one or two coefficients, or at most one and the end of the block. A single coefficient is stored
/// twice. DC differences are coefficients at place 0.
///
/// Moves and values are in separate tables. The next probe waits for the move, and the table of moves is small enough
/// to stay in the L1 cache. Nothing waits for the values.
using ProbeMove = std::uint16_t;
using ProbeValues = std::uint64_t;
namespace probe_entry {
/// Special advances: the end of the block, and an entry that holds nothing. Places are below 64, so in a sum of
/// advances bit 7 means that the block has ended correctly, and bit 6 that the entry is not sufficient.
constexpr std::uint32_t k_end = 128;
constexpr std::uint32_t k_nothing = 192;
constexpr std::uint32_t k_look_again = 64;

/// Bits of codes and values; 0 if they do not fit.
inline std::uint32_t length(ProbeMove move) { return move & 0xFF; }
/// The number of coefficients by which the place advances.
inline std::uint32_t advance(ProbeMove move) { return move >> 8 & 0xFF; }
inline std::uint32_t first_place(ProbeValues values) { return values & 0xFF; }
inline std::uint32_t second_place(ProbeValues values) { return values >> 8 & 0xFF; }
inline std::int16_t first_value(ProbeValues values) { return static_cast<std::int16_t>(values >> 16); }
inline std::int16_t second_value(ProbeValues values) { return static_cast<std::int16_t>(values >> 32); }
/// The number of the second value's lowest bits that are after the probe, and to be added to it.
inline std::uint32_t rest_bits(ProbeValues values) { return static_cast<std::uint32_t>(values >> 48); }
}  // namespace probe_entry

struct ProbeEntries {
  std::array<ProbeMove, k_probes> moves;
  std::array<ProbeValues, k_probes> values;
};

/// By symbol.
using SymbolCounts = std::array<std::uint32_t, 256>;

struct ProbeTable : ProbeEntries {
  HuffmanCodes codes;
  /// How often a decoder that counts used each entry, and symbols without an entry.
  std::array<std::uint32_t, k_probes> uses;
  SymbolCounts uses_without_entry;

  /// False if the table is not supported.
  bool build_dc(const JHUFF_TBL& table);
  bool build_ac(const JHUFF_TBL& table);

  void clear_uses();
  /// Adds the symbols that were used to `counts`.
  void add_uses(SymbolCounts& counts) const;
};

/// For scans of a progressive JPEG: one symbol and the value after it.
struct SymbolTable {
  static constexpr int k_bits = 11;
  /// Bits of code and value; 0 if they do not fit, or if the symbol ends the block: then `value` is its code's length
  /// << 8 | the symbol, or 0 if the code alone does not fit.
  struct Entry {
    std::uint8_t length = 0;
    std::uint8_t run = 0;
    std::int16_t value = 0;
  };
  std::array<Entry, std::size_t{1} << k_bits> entries;
  HuffmanCodes codes;

  /// False if the table is not supported. The sizes of values are at most `max_size`.
  bool build_dc(const JHUFF_TBL& table);
  bool build_ac(const JHUFF_TBL& table, std::uint32_t max_size);

  /// The symbol at the top of `bits`, which `entry` alone does not tell: the length of its code << 8 | the symbol, 0 if
  /// there is none.
  std::uint32_t symbol(const Entry& entry, std::uint64_t bits) const {
    return entry.value != 0 ? static_cast<std::uint16_t>(entry.value) : codes.symbol(bits);
  }
};

/// The value of the top `size` bits of `bits`, 0 to 15 of them: T.81, table F.1. Without a branch, because signs are
/// unpredictable.
inline std::int32_t extended_value(std::uint64_t bits, std::uint32_t size) {
  const auto value = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
  const std::int32_t negative = static_cast<std::int32_t>(bits >> 63) - 1;
  return value - (((1 << size) - 1) & negative);
}

}  // namespace bale::image_detail
