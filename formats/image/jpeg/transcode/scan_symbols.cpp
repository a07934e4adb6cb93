#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

#include <algorithm>
#include <utility>

namespace bale::image_detail {
namespace {

// T.81, tables F.1 and F.2: the largest sizes that 8-bit samples need, which libjpeg refuses to exceed.
constexpr std::uint32_t k_max_dc_difference = (1u << 11) - 1;
constexpr std::uint32_t k_max_ac = (1u << 10) - 1;
// A run of sixteen zeros has a symbol of its own, but leaves fewer coefficients.
constexpr std::size_t k_max_symbols_of_block = CodedValues::k_max_of_block;
constexpr std::size_t k_keep_symbols = std::size_t{4} << 20;

RowOfBlocks blocks_of_row(const CoefficientPlanes& planes, std::uint32_t mcu_row) {
  RowOfBlocks row;
  for (std::size_t i = 0; i < planes.planes().size(); ++i) {
    const CoefficientPlanes::Plane& plane = planes.planes()[i];
    row.num_mcus = plane.across / plane.mcu_across;
    const ScanTable table = i == 0 ? ScanTable::luma_dc : ScanTable::chroma_dc;
    for (std::uint32_t down = 0; down < plane.mcu_down; ++down) {
      for (std::uint32_t across = 0; across < plane.mcu_across; ++across) {
        row.places[row.num_places++] = {.coefficients = plane.block(across, mcu_row * plane.mcu_down + down),
                                        .step = std::size_t{plane.mcu_across} * 64,
                                        .component = i,
                                        .dc_table = static_cast<std::uint32_t>(table)};
      }
    }
  }
  return row;
}

}  // namespace

void ScanSymbols::open() {
  if (capacity_ > k_keep_symbols && size_ < capacity_ / 4) {
    symbols_.reset();
    capacity_ = 0;
  }
  size_ = 0;
  row_ends_.assign(1, 0);
  predictions_.assign(1, {});
  for (Counts& counts : counts_) counts.fill(0);
}

/// For the values of this number of blocks, and for their symbols.
CodedValues ScanSymbols::make_room(std::size_t num_blocks) {
  const std::size_t needed = size_ + num_blocks * k_max_symbols_of_block + CodedValues::k_padding;
  if (needed > capacity_) {
    const std::size_t capacity = std::max(needed, capacity_ * 2);
    std::unique_ptr<ScanSymbol[]> larger(new ScanSymbol[capacity]);
    std::copy_n(symbols_.get(), size_, larger.get());
    symbols_ = std::move(larger);
    capacity_ = capacity;
  }
  // Each array has a place before its first element.
  const std::size_t length = num_blocks * CodedValues::k_max_of_block + 2 * CodedValues::k_padding;
  auto* const memory = reinterpret_cast<std::uint16_t*>(values_.get(2 * length * sizeof(std::uint16_t)));
  std::uint16_t* const places = memory + CodedValues::k_padding;
  places[-1] = 0;
  return {places, reinterpret_cast<std::int16_t*>(places + length)};
}

bool ScanSymbols::add_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, bool counts) {
  const RowOfBlocks row = blocks_of_row(planes, mcu_row);
  const CodedValues values = make_room(row.num_places * row.num_mcus);
  const SymbolKernels& kernels = symbol_kernels();
  std::array<std::int32_t, 3> predictions = predictions_.back();
  LargestValues largest;
  const std::size_t num_values = kernels.collect(row, predictions, values);
  ScanSymbol* const first = symbols_.get() + size_;
  const std::size_t num_symbols = kernels.make_symbols(values, num_values, first, largest);
  if (counts) count({first, num_symbols});
  size_ += num_symbols;
  row_ends_.push_back(size_);
  predictions_.push_back(predictions);
  return largest.dc <= k_max_dc_difference && largest.ac <= k_max_ac;
}

void ScanSymbols::count(std::span<const ScanSymbol> symbols) {
  for (std::size_t i = 0; i + 1 < symbols.size(); i += 2) {
    ++counts_[0][symbols[i] & k_symbol_mask];
    ++counts_[1][symbols[i + 1] & k_symbol_mask];
  }
  if (symbols.size() % 2 != 0) ++counts_[0][symbols.back() & k_symbol_mask];
}

void ScanSymbols::set_counts(ScanTable table, const SymbolCounts& counts) {
  std::ranges::copy(counts, counts_[0].begin() + static_cast<std::size_t>(table) * k_symbols);
}

SymbolCounts ScanSymbols::counts(ScanTable table) const {
  SymbolCounts sums{};
  const std::size_t first = static_cast<std::size_t>(table) * k_symbols;
  for (std::size_t i = 0; i < k_symbols; ++i) sums[i] = counts_[0][first + i] + counts_[1][first + i];
  return sums;
}

std::uint64_t count_long_runs(const CoefficientPlanes& planes, std::uint32_t mcu_row) {
  return symbol_kernels().count_long_runs(blocks_of_row(planes, mcu_row));
}

}  // namespace bale::image_detail
