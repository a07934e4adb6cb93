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
  /// Appends the first row of MCUs of `planes`, whose coefficients are in natural order, and the classes of its blocks.
  /// False if a value is too large for a baseline JPEG.
  bool append_row(const CoefficientPlanes& planes, std::vector<std::byte>& out, std::vector<std::byte>& classes);

 private:
  bool put_dc(const CoefficientPlanes::Plane& plane);

  std::vector<BlockBits> blocks_;
  std::vector<std::uint32_t> sorted_;  // numbers of blocks: room for all of a row, for each kind
  std::array<BitsOut, k_num_planes> planes_;
  BitsOut dc_widths_;
  BitsOut dc_bits_;
};

}  // namespace bale::image_detail
