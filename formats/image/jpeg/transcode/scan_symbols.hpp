// The symbols of a baseline scan, and the shortest Huffman codes for them; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_huffman.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/transcode/symbol_kernels.hpp"

namespace bale::image_detail {

constexpr std::size_t k_symbols = 256;

/// The shortest codes for counted symbols: a Huffman table as a DHT segment has it (T.81, B.2.4.2), and the code of
/// each symbol.
struct OptimalCodes {
  std::array<std::uint8_t, 17> num_codes{};       // by length; [0] is not used
  std::array<std::uint8_t, k_symbols> symbols{};  // in the order of their codes
  std::uint32_t num_symbols = 0;
  std::array<std::uint16_t, k_symbols> codes{};   // by symbol
  std::array<std::uint8_t, k_symbols> lengths{};  // by symbol; 0 if it has no code

  /// T.81, K.2 and figures C.1 to C.3. The very table that libjpeg makes of these counts: of two that are equally rare,
  /// it takes the larger symbol first. False if a code is longer than 32 bits before lengths are limited to 16, which
  /// libjpeg refuses, or if nothing was counted.
  bool build(std::span<const std::uint32_t, k_symbols> counts);
  /// Takes the codes of a table that a file has: how many there are by length, [0] not used, and their symbols. False
  /// if they are more than there can be.
  bool take(const std::uint8_t* by_length, const std::uint8_t* in_order);

 private:
  void assign_codes();
};

/// The tables of an interleaved scan as libjpeg assigns them: luma has tables 0, chroma tables 1.
enum class ScanTable : std::uint32_t { luma_dc, luma_ac, chroma_dc, chroma_ac };

class ScanSymbols {
 public:
  /// Begins a scan. `restart_interval`: the number of MCUs after which DC values begin at 0 again; 0 for never.
  void open(std::uint32_t restart_interval = 0);
  /// Adds the next row of MCUs. False if a coefficient is too large for a baseline JPEG of 8 bits. `counts`: their
  /// symbols are counted here, not by set_counts().
  bool add_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, bool counts);
  void set_counts(ScanTable table, const SymbolCounts& counts);

  /// Those of each row of MCUs, in the order of the scan.
  std::span<const ScanSymbol> row(std::uint32_t mcu_row) const {
    return {symbols_.get() + row_ends_[mcu_row], row_ends_[mcu_row + 1] - row_ends_[mcu_row]};
  }
  /// The DC values of the components before each row.
  const std::array<std::int32_t, 3>& predictions(std::uint32_t mcu_row) const { return predictions_[mcu_row]; }
  SymbolCounts counts(ScanTable table) const;
  /// Those of all rows, and the numbers of those before which there is a restart.
  std::span<const ScanSymbol> all() const { return {symbols_.get(), size_}; }
  const std::vector<std::size_t>& restarts() const { return restarts_; }

 private:
  using Counts = std::array<std::uint32_t, k_scan_tables * k_symbols>;

  CodedValues make_room(std::size_t num_blocks);
  void count(std::span<const ScanSymbol> symbols);

  std::unique_ptr<ScanSymbol[]> symbols_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::size_t> row_ends_;
  std::uint32_t restart_interval_ = 0;
  std::uint32_t mcus_to_restart_ = 0;
  std::vector<std::size_t> restarts_;
  std::vector<std::array<std::int32_t, 3>> predictions_;
  AlignedMemory values_;
  // In turns, because counting the same symbol twice waits for the first time.
  std::array<Counts, 2> counts_{};
};

/// The number of symbols for runs of sixteen zeros in a row of MCUs.
std::uint64_t count_long_runs(const CoefficientPlanes& planes, std::uint32_t mcu_row);

}  // namespace bale::image_detail
