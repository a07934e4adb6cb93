// The affine map to the nearest pixel, which Pillow computes in three ways: a map without rotation by sums in double,
// one whose positions are below 32768 in 16.16 fixed point, any other by sums in double. Internal.
//
// Threads: a pure function. Source: ImagingScaleAffine, affine_fixed and ImagingTransformAffine of Pillow's Geometry.c.
#pragma once

#include <array>

#include "bale/formats/image/codec/raster.hpp"

namespace bale::image_detail {

void warp_nearest(const Raster& source, const std::array<double, 6>& matrix, const Fill& fill, const RasterOut& out);

}  // namespace bale::image_detail
