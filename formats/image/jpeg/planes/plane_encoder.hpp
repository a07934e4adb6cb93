// Writes the coefficients of a JPEG as planes (PLANES.md); internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/jpeg/planes/kernels/plane_kernels.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"

namespace bale::image_detail {

/// For one thread at a time.
class PlaneEncoder {
 public:
  /// Appends a row of MCUs of `planes`, whose coefficients are in natural order, and the classes of its blocks. False
  /// if a value is too large for a baseline JPEG.
  bool append_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, std::vector<std::byte>& out,
                  std::vector<std::byte>& classes);

 private:
  bool put_dc(std::span<const std::int16_t> row);

  std::vector<BlockBits> blocks_;
  std::vector<std::uint32_t> sorted_;  // numbers of blocks: room for all of a row, for each kind
  std::array<BitsOut, k_num_planes> planes_;
  BitsOut dc_widths_;
  BitsOut dc_bits_;
};

}  // namespace bale::image_detail
