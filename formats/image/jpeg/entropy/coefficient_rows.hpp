// Where decoded coefficients lie, between an entropy decoder and RegionPixels; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// The order of a block's coefficients in memory: rows of eight; by zigzag index; or as the inverse DCT multiplies
/// them: rows 0 and 4, 2 and 6, 1 and 5, 3 and 7, each two in turn, an element of the one and an element of the other.
enum class BlockOrder { natural, zigzag, pairs };

/// The coefficients of one component's blocks, for one row of MCUs. All zero before they are written.
struct CoefficientRow {
  std::int16_t* coefficients = nullptr;  // blocks of 64, one after another
  std::size_t blocks_across = 0;         // blocks per row of blocks, a multiple of those that are transformed at once
};
using CoefficientRows = std::array<CoefficientRow, 3>;

inline constexpr std::size_t k_block_size = 64;

// T.81, figure A.6.
inline constexpr std::uint8_t k_zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                              12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                              35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                              58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// By natural index: the place in BlockOrder::pairs.
constexpr std::uint32_t place_in_pairs(std::uint32_t natural) {
  constexpr std::uint32_t k_pair_of_row[4] = {0, 2, 1, 3};
  const std::uint32_t row = natural / 8;
  return k_pair_of_row[row % 4] * 16 + natural % 8 * 2 + row / 4;
}

/// The offset from the block's first coefficient of the one with that zigzag index.
constexpr std::uint16_t place_in(BlockOrder order, std::size_t zigzag_index) {
  if (order == BlockOrder::zigzag) return static_cast<std::uint16_t>(zigzag_index);
  const std::uint32_t natural = k_zigzag[zigzag_index];
  return static_cast<std::uint16_t>(order == BlockOrder::natural ? natural : place_in_pairs(natural));
}

/// A range of MCUs in a row.
struct McuRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

}  // namespace bale::image_detail
