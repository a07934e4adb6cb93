// Pillow's Image.transform, bit for bit: an affine map or a perspective from positions of the output to those of the
// source. Pixels whose position is outside the source get the fill. Internal.
//
// Threads: a Warper reuses its memory and is used by one thread at a time.
// Source: Pillow's Geometry.c.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/formats/image/codec/raster.hpp"
#include "bale/formats/image/sampling.hpp"

namespace bale::image_detail {

class Warper {
 public:
  /// Output pixel (x, y) is taken from (ax + by + c, dx + ey + f). One channel is always sampled to the nearest pixel.
  void affine(const Raster& source, const std::array<double, 6>& matrix, Sampling sampling, const Fill& fill,
              const RasterOut& out);
  /// From ((ax + by + c) / (gx + hy + 1), (dx + ey + f) / (gx + hy + 1)).
  void perspective(const Raster& source, const std::array<double, 8>& coefficients, Sampling sampling, const Fill& fill,
                   const RasterOut& out);

 private:
  std::vector<std::uint32_t> source_;  // one word per pixel: red, green, blue, unused
  std::vector<std::uint32_t> row_;
  std::vector<double> positions_;
};

}  // namespace bale::image_detail
