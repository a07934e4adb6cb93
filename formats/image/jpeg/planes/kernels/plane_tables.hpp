// Tables for CPUs that put bits in place by shuffles (plane_tables-inl.hpp); internal.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/jpeg/planes/kernels/plane_classes.hpp"

namespace bale::image_detail {

/// By eight bits: for each bit that is set, how many below it are. For the others a number that a shuffle makes zero.
template <std::size_t k_bytes>
using Spread = std::array<std::array<std::uint8_t, 8 * k_bytes>, 256>;

/// Of lanes of `k_bytes`: a number for each byte.
template <std::size_t k_bytes>
constexpr Spread<k_bytes> make_spread() {
  Spread<k_bytes> spread{};
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto below = static_cast<std::uint32_t>(std::popcount(bits & ((1u << i) - 1)));
      for (std::size_t byte = 0; byte < k_bytes; ++byte) {
        spread[bits][i * k_bytes + byte] =
            static_cast<std::uint8_t>((bits >> i & 1) != 0 ? below * k_bytes + byte : 0x80);
      }
    }
  }
  return spread;
}

template <std::size_t k_bytes>
alignas(64) inline constexpr Spread<k_bytes> k_spread = make_spread<k_bytes>();

/// Of a row of eight coefficients of a block: which bits of the block's mask are its own.
struct MaskPart {
  std::uint8_t first = 0;
  std::uint8_t bits = 0;  // all set, as many as there are
};

constexpr std::array<std::array<MaskPart, 8>, k_num_classes> make_mask_parts() {
  std::array<std::array<MaskPart, 8>, k_num_classes> parts{};
  for (std::uint32_t number = 0; number < k_num_classes; ++number) {
    std::uint8_t first = 0;
    for (std::uint32_t row = 0; row < 8; ++row) {
      const auto count = std::popcount(k_plane_classes.reach[number] >> (row * 8) & 0xFF);
      parts[number][row] = {.first = first, .bits = static_cast<std::uint8_t>((1u << count) - 1)};
      first = static_cast<std::uint8_t>(first + count);
    }
  }
  return parts;
}

inline constexpr auto k_mask_parts = make_mask_parts();

/// Whether what a block reaches of each row is without a gap, but for DC: then a part of its mask needs only a shift.
constexpr bool reaches_have_no_gaps() {
  for (const std::uint64_t reach : k_plane_classes.reach) {
    for (std::uint32_t row = 0; row < 8; ++row) {
      const std::uint64_t part = (reach >> (row * 8) & 0xFF) >> (row == 0 ? 1 : 0);
      if ((part & (part + 1)) != 0) return false;
    }
  }
  return true;
}
static_assert(reaches_have_no_gaps());

}  // namespace bale::image_detail
