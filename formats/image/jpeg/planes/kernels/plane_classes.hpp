// Classes of blocks in JPEG planes (PLANES.md): how many bits the largest coefficient besides DC has, and how far the
// coefficients that are not zero reach; internal.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::image_detail {

/// The most bits of a coefficient besides DC in a baseline JPEG of 8 bits (T.81, table F.2).
inline constexpr std::uint32_t k_max_ac_bits = 10;
/// Of a difference of DC values, with its sign in the lowest bit.
inline constexpr std::uint32_t k_max_dc_bits = 15;
/// Differences of DC values that have one width.
inline constexpr std::uint32_t k_dc_group = 8;
/// The masks, the signs, and what the bits above the first need.
inline constexpr std::size_t k_num_planes = k_max_ac_bits + 1;

inline constexpr std::uint32_t k_num_reaches = 16;
/// Blocks of this many coefficients and more are dense: their class does not say how far they reach, and reading them
/// takes words of more than 56 bits.
inline constexpr std::uint32_t k_dense = 57;
inline constexpr std::uint32_t k_first_dense_class = 1 + k_max_ac_bits * k_num_reaches;
inline constexpr std::uint32_t k_num_classes = k_first_dense_class + k_max_ac_bits;

/// Blocks of one kind are decoded together: 0 has no AC, then by bits, then dense ones by bits.
inline constexpr std::uint32_t k_num_kinds = 2 * k_max_ac_bits + 1;

struct PlaneClasses {
  std::array<std::uint64_t, k_num_classes> reach{};     // the places that have a bit in the mask, in natural order
  std::array<std::uint8_t, k_num_classes> mask_bits{};  // how many they are
  std::array<std::uint8_t, 256> kind{};                 // also of a byte that is not a class: 0
};

constexpr PlaneClasses make_plane_classes() {
  PlaneClasses classes;
  for (std::uint32_t number = 1; number < k_num_classes; ++number) {
    const bool is_dense = number >= k_first_dense_class;
    const std::uint32_t end = is_dense ? 64 : ((number - 1) % k_num_reaches + 1) * 4;
    for (std::uint32_t k = 1; k < end; ++k) classes.reach[number] |= std::uint64_t{1} << k_zigzag[k];
    classes.mask_bits[number] = static_cast<std::uint8_t>(end - 1);
    classes.kind[number] = static_cast<std::uint8_t>(is_dense ? k_max_ac_bits + 1 + number - k_first_dense_class
                                                              : (number - 1) / k_num_reaches + 1);
  }
  return classes;
}

inline constexpr PlaneClasses k_plane_classes = make_plane_classes();

/// The class of a block. `bits`: of its largest coefficient besides DC, 0 if all are zero. `nonzero`: the places of
/// those that are not zero, in natural order.
constexpr std::uint8_t plane_class(std::uint32_t bits, std::uint64_t nonzero) {
  if (bits == 0) return 0;
  if (static_cast<std::uint32_t>(std::popcount(nonzero)) >= k_dense)
    return static_cast<std::uint8_t>(k_first_dense_class + bits - 1);
  // The classes with one bit have every reach.
  std::uint32_t reach = 0;
  for (std::uint32_t step = k_num_reaches / 2; step > 0; step /= 2) {
    reach += (nonzero & ~k_plane_classes.reach[reach + step]) != 0 ? step : 0;
  }
  return static_cast<std::uint8_t>(1 + (bits - 1) * k_num_reaches + reach);
}

}  // namespace bale::image_detail
