// The symbols of a baseline scan, before they have codes; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bale/formats/image/jpeg/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/optimal_codes.hpp"

namespace bale::image_detail {

/// The tables of an interleaved scan as libjpeg assigns them: luma has tables 0, chroma tables 1.
enum class ScanTable : std::uint32_t { luma_dc, luma_ac, chroma_dc, chroma_ac };
constexpr std::size_t k_scan_tables = 4;

/// A symbol and the bits after it (T.81, F.1.2): the table << 8 | the symbol in the low 10 bits, the bits in the upper
/// half. How many bits there are is the symbol's low half.
using ScanSymbol = std::uint32_t;
constexpr std::uint32_t k_symbol_mask = (k_scan_tables << 8) - 1;

class ScanSymbols {
 public:
  /// Begins a scan. `plain` is for tests: no instructions that only some CPUs have.
  void open(bool plain);
  /// Adds the next row of MCUs. False if a coefficient is too large for a baseline JPEG of 8 bits.
  bool add_row(const CoefficientPlanes& planes, std::uint32_t mcu_row);

  /// Those of each row of MCUs, in the order of the scan.
  std::span<const ScanSymbol> row(std::uint32_t mcu_row) const {
    return {symbols_.get() + row_ends_[mcu_row], row_ends_[mcu_row + 1] - row_ends_[mcu_row]};
  }
  /// The DC values of the components before each row.
  const std::array<std::int32_t, 3>& predictions(std::uint32_t mcu_row) const { return predictions_[mcu_row]; }
  std::span<const std::uint32_t, k_symbols> counts(ScanTable table) const {
    return std::span(counts_).subspan(static_cast<std::size_t>(table) * k_symbols).first<k_symbols>();
  }

 private:
  /// The blocks at one place of the MCUs of a row.
  struct BlockOfMcu {
    const std::int16_t* coefficients = nullptr;
    const std::uint64_t* mask = nullptr;
    std::size_t step = 0;  // blocks from one MCU to the next
    std::size_t component = 0;
    std::uint32_t tables = 0;  // the DC table << 8; the AC table is the next one
  };
  struct Row {
    std::array<BlockOfMcu, 12> blocks{};
    std::size_t num_blocks = 0;
    std::size_t num_mcus = 0;
  };
  struct Variants;

  Row make_row(const CoefficientPlanes& planes, std::uint32_t mcu_row);
  void make_room(std::size_t num_blocks);
  template <bool k_bmi2>
  [[gnu::always_inline]] bool add_mcus(const Row& row);

  std::unique_ptr<ScanSymbol[]> symbols_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::size_t> row_ends_;
  std::vector<std::array<std::int32_t, 3>> predictions_;
  std::vector<std::uint64_t> masks_;
  std::array<std::uint32_t, k_scan_tables * k_symbols> counts_{};
  bool has_bmi2_ = false;
};

}  // namespace bale::image_detail
