#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace bale::image_detail {
namespace {

constexpr std::size_t k_max_length = 16;
constexpr std::size_t k_max_unlimited = 32;
// One more symbol, counted once, gets the code of all ones, which no symbol may have.
constexpr std::uint32_t k_reserved = k_symbols;
constexpr std::size_t k_max_nodes = 2 * (k_symbols + 1) - 1;

/// A tree that is not joined to another one yet. Smaller ones are joined first.
struct Tree {
  std::uint64_t count = 0;
  std::uint32_t symbol = 0;  // of the tree that was the rarer one in each join
  std::uint32_t node = 0;

  bool operator>(const Tree& other) const { return count != other.count ? count > other.count : symbol < other.symbol; }
};

/// The length of each symbol's code, without a limit: T.81, figure K.1. 0 for those that were not counted.
std::array<std::uint32_t, k_symbols + 1> unlimited_lengths(std::span<const std::uint32_t, k_symbols> counts) {
  std::array<Tree, k_symbols + 1> trees;
  std::array<std::uint32_t, k_max_nodes> parents{};
  std::uint32_t num_trees = 0;
  for (std::uint32_t symbol = 0; symbol <= k_reserved; ++symbol) {
    const std::uint32_t count = symbol == k_reserved ? 1 : counts[symbol];
    if (count != 0) trees[num_trees++] = {count, symbol, symbol};
  }
  const auto begin = trees.begin();
  std::make_heap(begin, begin + num_trees, std::greater<>());
  const std::uint32_t first_inner = k_reserved + 1;
  std::uint32_t next_node = first_inner;
  for (; num_trees > 1; --num_trees) {
    std::pop_heap(begin, begin + num_trees, std::greater<>());
    const Tree rarest = trees[num_trees - 1];
    std::pop_heap(begin, begin + num_trees - 1, std::greater<>());
    Tree& joined = trees[num_trees - 2];
    parents[rarest.node] = parents[joined.node] = next_node;
    joined = {rarest.count + joined.count, rarest.symbol, next_node++};
    std::push_heap(begin, begin + num_trees - 1, std::greater<>());
  }
  // A node is made after its children, so lengths are found from the last one back.
  std::array<std::uint32_t, k_max_nodes> depths{};
  for (std::uint32_t node = next_node - 1; node-- > first_inner;) depths[node] = depths[parents[node]] + 1;
  std::array<std::uint32_t, k_symbols + 1> lengths{};
  for (std::uint32_t symbol = 0; symbol <= k_reserved; ++symbol) {
    if (parents[symbol] != 0) lengths[symbol] = depths[parents[symbol]] + 1;
  }
  return lengths;
}

/// T.81, figure K.3. `num_codes` is by length.
void limit_lengths(std::array<std::uint32_t, k_max_unlimited + 1>& num_codes) {
  for (std::size_t length = k_max_unlimited; length > k_max_length; --length) {
    while (num_codes[length] > 0) {
      std::size_t shorter = length - 2;
      while (num_codes[shorter] == 0) --shorter;
      num_codes[length] -= 2;
      ++num_codes[length - 1];
      num_codes[shorter + 1] += 2;
      --num_codes[shorter];
    }
  }
}

}  // namespace

bool OptimalCodes::build(std::span<const std::uint32_t, k_symbols> counts) {
  const auto unlimited = unlimited_lengths(counts);
  std::array<std::uint32_t, k_max_unlimited + 1> by_length{};
  for (const std::uint32_t length : unlimited) {
    if (length > k_max_unlimited) return false;
    ++by_length[length];
  }
  by_length[0] = 0;
  // Figure K.4: symbols by their lengths before the limit.
  num_symbols = 0;
  std::array<std::uint32_t, k_max_unlimited + 2> next{};
  for (std::size_t length = 1; length <= k_max_unlimited; ++length) next[length + 1] = next[length] + by_length[length];
  for (std::uint32_t symbol = 0; symbol < k_symbols; ++symbol) {
    if (unlimited[symbol] == 0) continue;
    symbols[next[unlimited[symbol]]++] = static_cast<std::uint8_t>(symbol);
    ++num_symbols;
  }
  limit_lengths(by_length);
  std::size_t longest = k_max_length;
  while (longest > 0 && by_length[longest] == 0) --longest;
  if (longest == 0) return false;
  --by_length[longest];  // the reserved symbol
  std::copy_n(by_length.begin(), num_codes.size(), num_codes.begin());
  assign_codes();
  return true;
}

bool OptimalCodes::take(const std::uint8_t* by_length, const std::uint8_t* in_order) {
  std::copy_n(by_length, num_codes.size(), num_codes.begin());
  num_codes[0] = 0;
  num_symbols = std::accumulate(num_codes.begin(), num_codes.end(), std::uint32_t{0});
  if (num_symbols > k_symbols) return false;
  std::copy_n(in_order, num_symbols, symbols.begin());
  assign_codes();
  return true;
}

void OptimalCodes::assign_codes() {
  lengths.fill(0);
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t length = 1; length <= k_max_length; ++length, code <<= 1) {
    for (std::uint32_t i = 0; i < num_codes[length]; ++i) {
      const std::uint8_t symbol = symbols[index++];
      codes[symbol] = static_cast<std::uint16_t>(code++);
      lengths[symbol] = static_cast<std::uint8_t>(length);
    }
  }
}

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

void ScanSymbols::open(std::uint32_t restart_interval) {
  if (capacity_ > k_keep_symbols && size_ < capacity_ / 4) {
    symbols_.reset();
    capacity_ = 0;
  }
  size_ = 0;
  restart_interval_ = mcus_to_restart_ = restart_interval;
  restarts_.clear();
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
  RowOfBlocks row = blocks_of_row(planes, mcu_row);
  const CodedValues values = make_room(row.num_places * row.num_mcus);
  const SymbolKernels& kernels = symbol_kernels();
  std::array<std::int32_t, 3> predictions = predictions_.back();
  LargestValues largest;
  for (std::size_t rest = row.num_mcus; rest > 0; rest -= row.num_mcus) {
    if (restart_interval_ != 0 && mcus_to_restart_ == 0) {
      restarts_.push_back(size_);
      predictions = {};
      mcus_to_restart_ = restart_interval_;
    }
    row.num_mcus = restart_interval_ == 0 ? rest : std::min<std::size_t>(rest, mcus_to_restart_);
    mcus_to_restart_ -= restart_interval_ == 0 ? 0 : static_cast<std::uint32_t>(row.num_mcus);
    const std::size_t num_values = kernels.collect(row, predictions, values);
    ScanSymbol* const first = symbols_.get() + size_;
    const std::size_t num_symbols = kernels.make_symbols(values, num_values, first, largest);
    if (counts) count({first, num_symbols});
    size_ += num_symbols;
    for (std::size_t i = 0; i < row.num_places; ++i) row.places[i].coefficients += row.num_mcus * row.places[i].step;
  }
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
