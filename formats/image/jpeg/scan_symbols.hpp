// The symbols of a baseline scan, before they have codes; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bale/formats/image/jpeg/aligned_memory.hpp"
#include "bale/formats/image/jpeg/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/optimal_codes.hpp"
#include "bale/formats/image/jpeg/symbol_kernels.hpp"

namespace bale::image_detail {

/// The tables of an interleaved scan as libjpeg assigns them: luma has tables 0, chroma tables 1.
enum class ScanTable : std::uint32_t { luma_dc, luma_ac, chroma_dc, chroma_ac };

class ScanSymbols {
 public:
  /// Begins a scan.
  void open();
  /// Adds the next row of MCUs. False if a coefficient is too large for a baseline JPEG of 8 bits.
  bool add_row(const CoefficientPlanes& planes, std::uint32_t mcu_row);

  /// Those of each row of MCUs, in the order of the scan.
  std::span<const ScanSymbol> row(std::uint32_t mcu_row) const {
    return {symbols_.get() + row_ends_[mcu_row], row_ends_[mcu_row + 1] - row_ends_[mcu_row]};
  }
  /// The DC values of the components before each row.
  const std::array<std::int32_t, 3>& predictions(std::uint32_t mcu_row) const { return predictions_[mcu_row]; }
  /// By symbol.
  std::array<std::uint32_t, k_symbols> counts(ScanTable table) const;

 private:
  using Counts = std::array<std::uint32_t, k_scan_tables * k_symbols>;

  CodedValues make_room(std::size_t num_blocks);
  void count(std::span<const ScanSymbol> symbols);

  std::unique_ptr<ScanSymbol[]> symbols_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::size_t> row_ends_;
  std::vector<std::array<std::int32_t, 3>> predictions_;
  AlignedMemory values_;
  // In turns, because counting the same symbol twice waits for the first time.
  std::array<Counts, 2> counts_{};
};

}  // namespace bale::image_detail
