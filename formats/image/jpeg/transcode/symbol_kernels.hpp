// From coefficients to the symbols of a baseline scan; internal. In SIMD chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// A symbol and the bits after it (T.81, F.1.2): the table << 8 | the symbol in the low 10 bits, the bits in the upper
/// half. How many bits there are is the symbol's low half.
using ScanSymbol = std::uint32_t;
// Luma has the tables 0 (DC) and 1 (AC), chroma 2 and 3.
constexpr std::uint32_t k_scan_tables = 4;
constexpr std::uint32_t k_symbol_mask = (k_scan_tables << 8) - 1;

/// A row of MCUs: the blocks at each place of an MCU, in the order of the scan.
struct RowOfBlocks {
  struct Place {
    const std::int16_t* coefficients = nullptr;  // of the first MCU, in zigzag order, aligned to 64 bytes
    std::size_t step = 0;                        // coefficients from one MCU to the next
    std::size_t component = 0;
    std::uint32_t dc_table = 0;  // the AC table is the next one
  };
  std::array<Place, 6> places{};
  std::size_t num_places = 0;
  std::size_t num_mcus = 0;
};

/// What gets a symbol: DC differences, coefficients that are not zero, and ends of blocks, whose value is 0. Of each
/// its table << 8 | its zigzag index, 0 for the end of a block.
struct CodedValues {
  /// The vectors that are read and written may have this many more, and the first one has one before it, which is 0.
  static constexpr std::size_t k_padding = 64;
  /// DC, 63 coefficients or fewer and an end.
  static constexpr std::size_t k_max_of_block = 64;

  std::uint16_t* places = nullptr;
  std::int16_t* values = nullptr;
};

/// The largest values found; each has at most the bits of the true one.
struct LargestValues {
  std::uint32_t dc = 0;
  std::uint32_t ac = 0;
};

struct SymbolKernels {
  /// The number of runs of sixteen zeros that get a symbol.
  std::uint64_t (*count_long_runs)(const RowOfBlocks& row);
  /// Fills `to`, pads it with zeros, and returns the number of values. `predictions` are the DC values before, and get
  /// the last ones. Differences must fit into 16 bits.
  std::size_t (*collect)(const RowOfBlocks& row, std::array<std::int32_t, 3>& predictions, const CodedValues& to);
  /// Makes the symbols of `count` values, and returns their number. `out` has room for CodedValues::k_padding more.
  std::size_t (*make_symbols)(const CodedValues& from, std::size_t count, ScanSymbol* out, LargestValues& largest);
  /// Of each of `count` blocks, which coefficients have a magnitude of 1 << `bit` or more.
  void (*find_magnitudes)(const std::int16_t* blocks, std::size_t count, std::uint32_t bit, std::uint64_t* masks);
};

/// The kernels for this CPU, or for the target that limit_simd() allows.
const SymbolKernels& symbol_kernels();

}  // namespace bale::image_detail
