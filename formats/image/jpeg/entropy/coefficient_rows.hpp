// Where decoded coefficients lie, between an entropy decoder and RegionPixels; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// The order of a block's coefficients in memory: rows of eight, or by zigzag index.
enum class BlockOrder { natural, zigzag };

/// How blocks lie in memory. In natural order, 1 << group_shift adjacent blocks form a group. It stores the first rows
/// of all its blocks, then the second rows, and so on: SIMD reads them at once. In zigzag order blocks form no groups.
struct BlockLayout {
  BlockOrder order = BlockOrder::natural;
  std::uint32_t group_shift = 0;
};

/// The coefficients of one component's blocks, for one row of MCUs. All zero before they are written.
struct CoefficientRow {
  std::int16_t* coefficients = nullptr;
  std::size_t blocks_across = 0;  // blocks per row of blocks, a multiple of those that are transformed at once
};
using CoefficientRows = std::array<CoefficientRow, 3>;

/// The coefficients of block `index`, counted over rows of blocks, in groups of 1 << `group_shift`.
inline std::int16_t* block_in(std::int16_t* coefficients, std::size_t index, std::uint32_t group_shift) {
  const std::size_t in_group = index & ((std::size_t{1} << group_shift) - 1);
  return coefficients + (index >> group_shift << (group_shift + 6)) + in_group * 8;
}

// T.81, figure A.6.
inline constexpr std::uint8_t k_zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                              12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                              35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                              58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// The offset from the block's first coefficient of the one with that zigzag index.
constexpr std::uint16_t place_in_group(std::size_t zigzag_index, std::uint32_t group_shift) {
  const std::uint32_t place = k_zigzag[zigzag_index];
  return static_cast<std::uint16_t>((place / 8 * 8 << group_shift) + place % 8);
}

/// A range of MCUs in a row.
struct McuRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

}  // namespace bale::image_detail
