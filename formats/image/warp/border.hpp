// Pixels outside an image: borders as numpy.pad makes them, and the index that a mirrored axis has there. Internal.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "bale/formats/image/codec/raster.hpp"
#include "bale/formats/image/sampling.hpp"

namespace bale::image_detail {

/// The position that `at`, which may be outside, has on an axis of `size` positions that is continued by reflection;
/// the positions at the ends are not repeated. Any number of reflections.
std::uint32_t reflected(std::int64_t at, std::uint32_t size);

/// The source at (left, top) of `out`, and around it what the mode says.
void pad(const Raster& source, std::uint32_t left, std::uint32_t top, PadMode mode, const Fill& fill,
         const RasterOut& out);

/// The rectangle of out's size at (left, top) of the source. What lies outside the source is black.
void crop(const Raster& source, std::int64_t left, std::int64_t top, const RasterOut& out);

}  // namespace bale::image_detail
