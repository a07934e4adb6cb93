// Writes the coefficients of a JPEG as planes (PLANES.md); internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/jpeg/planes/kernels/plane_kernels.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"

namespace bale::image_detail {

/// For one thread at a time.
class PlaneEncoder {
 public:
  /// Appends a row of MCUs, and the classes of its blocks. False if a value is too large for a baseline JPEG.
  bool append_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, std::vector<std::byte>& out,
                  std::vector<std::byte>& classes);

 private:
  /// Bits, the first in the lowest bit of the first byte.
  class Bits {
   public:
    void clear();
    /// At most 63 bits.
    void put(std::uint64_t bits, std::uint32_t count);
    /// Fills the last byte with zeros.
    void finish();
    const std::vector<std::byte>& bytes() const { return bytes_; }

   private:
    std::vector<std::byte> bytes_;
    std::uint64_t pending_ = 0;
    std::uint32_t count_ = 0;
  };
  struct Block {
    BlockBits bits{};
    std::uint8_t number = 0;  // of its class
  };

  void put_block(const Block& block);
  bool put_dc(const CoefficientPlanes::Plane& plane, std::uint32_t mcu_row);

  std::vector<Block> blocks_;
  std::array<std::vector<std::uint32_t>, k_num_kinds> by_kind_;
  std::array<Bits, k_num_planes> planes_;
  Bits dc_widths_;
  Bits dc_bits_;
};

}  // namespace bale::image_detail
