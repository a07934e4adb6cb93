// From JPEG planes to coefficients (PLANES.md); internal. In SIMD chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"
#include "bale/formats/image/jpeg/planes/kernels/plane_classes.hpp"

namespace bale::image_detail {

/// Bytes that may be read after the last one of a row.
inline constexpr std::size_t k_plane_padding = 32;

/// A row of MCUs that is being decoded. Borrows.
struct PlaneRow {
  const std::uint8_t* data = nullptr;              // k_plane_padding bytes after `end` can be read
  std::uint64_t end = 0;                           // in bits from `data`, as is what follows
  std::array<std::uint64_t, k_num_planes> next{};  // of each plane the bit that is read next
  const std::uint8_t* classes = nullptr;           // by block
  const std::int16_t* dc = nullptr;                // by block
  std::int16_t* const* targets = nullptr;  // by block: where its coefficients go, aligned to 16 bytes; null if nowhere
  BlockLayout layout{};

  bool is_zigzag() const { return layout.order == BlockOrder::zigzag; }
  /// From a row of eight coefficients of a block to the next.
  std::size_t stride() const { return is_zigzag() ? 8 : std::size_t{8} << layout.group_shift; }
};

/// The bits of a block's coefficients besides DC.
struct BlockBits {
  std::array<std::uint64_t, k_max_ac_bits> magnitudes{};  // [b]: which have bit b, in natural order
  std::uint64_t signs = 0;                                // which are negative, in natural order
  std::uint64_t nonzero = 0;                              // which are not zero, in zigzag order
};

struct PlaneKernels {
  /// `block`: in zigzag order, aligned to 16 bytes. False if a coefficient has more than k_max_ac_bits bits.
  bool (*look_at)(const std::int16_t* block, BlockBits& bits) = nullptr;
  /// Decodes blocks of one kind: all their coefficients, also those that are zero. `blocks`: their numbers, in the
  /// order in which they were written. Without instructions that put bits in place, or where they are slow, by tables
  /// of shuffles. False if more bits were read than the row has; what is stored then has no meaning.
  bool (*decode)(PlaneRow& row, std::uint32_t kind, std::span<const std::uint16_t> blocks) = nullptr;
};

/// The kernels for this CPU, or for the target that limit_simd() allows.
const PlaneKernels& plane_kernels();

}  // namespace bale::image_detail
