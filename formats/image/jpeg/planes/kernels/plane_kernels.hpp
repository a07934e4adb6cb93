// From JPEG planes to coefficients (PLANES.md); internal. In SIMD chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"
#include "bale/formats/image/jpeg/planes/kernels/plane_classes.hpp"

namespace bale::image_detail {

/// Bytes that may be read after the last one of a row.
inline constexpr std::size_t k_plane_padding = 32;

/// Of a plane, per block: a coefficient takes at most two.
inline constexpr std::uint64_t k_most_bits = 126;

/// Blocks have numbers of 16 bits: a row of MCUs of the widest JPEG, of 65,535 pixels in 4:4:4, has 24,576.
inline constexpr std::uint16_t k_no_block = 0xFFFF;

/// A block of a row. All that is needed of it lies together, since there are few registers.
struct PlaneBlock {
  std::int16_t* to = nullptr;  // where its coefficients go, aligned to 16 bytes; null if nowhere
  std::int16_t dc = 0;
  std::uint16_t next = k_no_block;  // of its kind: a list, since what is sorted by counts waits for each count
  std::uint8_t number = 0;          // of its class
};

/// A row of MCUs that is being decoded. Borrows.
struct PlaneRow {
  const std::uint8_t* data = nullptr;
  std::uint64_t end = 0;                           // in bits from `data`, as is what follows
  std::uint64_t readable_end = 0;                  // of memory: k_plane_padding bytes after `end` at least
  std::array<std::uint64_t, k_num_planes> next{};  // of each plane the bit that is read next
  const PlaneBlock* blocks = nullptr;
  BlockOrder order = BlockOrder::pairs;  // of the coefficients that are stored
};

/// The DC differences of a row of MCUs, which are being read. Borrows.
struct DcDifferences {
  const std::uint8_t* data = nullptr;    // k_plane_padding bytes after `end` can be read
  std::uint64_t end = 0;                 // in bits from `data`
  const std::uint8_t* widths = nullptr;  // four bits for each group of k_dc_group
  std::uint64_t next = 0;                // the bit that is read next
  std::size_t group = 0;                 // and its group
};

/// The bits of a block's coefficients besides DC, each at its place in natural order.
struct BlockBits {
  std::array<std::uint64_t, k_max_ac_bits> magnitudes{};  // [b]: which have bit b
  std::uint64_t signs = 0;                                // which are negative
  std::uint8_t number = 0;                                // of the block's class
};

/// Writes bits, the first in the lowest bit of the first byte.
class BitsOut {
 public:
  /// Forgets what was written. At most `bits` follow.
  void begin(std::size_t bits) {
    memory_.resize(bits / 8 + 2 * sizeof(pending_));
    next_ = memory_.data();
    pending_ = 0;
    count_ = 0;
  }
  /// At most 63 bits.
  void put(std::uint64_t bits, std::uint32_t count) {
    pending_ |= bits << count_;
    std::memcpy(next_, &pending_, sizeof(pending_));
    const std::uint32_t all = count_ + count;
    next_ += all >> 3;
    if (all < 64) [[likely]] {
      pending_ >>= all & ~7u;
    } else {
      pending_ = bits >> (64 - count_);
      *next_ = static_cast<std::byte>(pending_);
    }
    count_ = all & 7;
  }
  /// What was written, its last byte filled with zeros.
  Bytes bytes() const {
    return Bytes(memory_).first(static_cast<std::size_t>(next_ - memory_.data()) + (count_ > 0 ? 1 : 0));
  }

 private:
  std::vector<std::byte> memory_;
  std::byte* next_ = nullptr;
  std::uint64_t pending_ = 0;  // the low `count_` bits, fewer than 8
  std::uint32_t count_ = 0;
};

struct PlaneKernels {
  /// `block`: in natural order, aligned to 64 bytes. False if a coefficient has more than k_max_ac_bits bits.
  bool (*look_at)(const std::int16_t* block, BlockBits& bits) = nullptr;
  /// Writes the blocks of one kind.
  void (*put_blocks)(std::span<const BlockBits> all, std::span<const std::uint32_t> blocks,
                     std::array<BitsOut, k_num_planes>& planes) = nullptr;
  /// Adds up the differences of a component's `count` blocks; writes whole groups. False if there are fewer.
  bool (*add_dc)(DcDifferences& from, std::int16_t first, std::size_t count, std::int16_t* dc) = nullptr;
  /// Decodes the blocks of one kind, from `first` on: all their coefficients, also those that are zero. Without
  /// instructions that put bits in place, or where they are slow, by tables of shuffles. False if more bits were read
  /// than the row has; what is stored then has no meaning.
  bool (*decode)(PlaneRow& row, std::uint32_t kind, std::uint16_t first) = nullptr;
};

/// The kernels for this CPU, or for the target that limit_simd() allows.
const PlaneKernels& plane_kernels();

}  // namespace bale::image_detail
