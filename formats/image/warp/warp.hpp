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
#include "bale/formats/image/region.hpp"

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

// Pixels outside an image: borders as numpy.pad makes them, and the index that a mirrored axis has there.
//
// Threads: pure functions.

/// The position that `at`, which may be outside, has on an axis of `size` positions that is continued by reflection;
/// the positions at the ends are not repeated. Any number of reflections.
std::uint32_t reflected(std::int64_t at, std::uint32_t size);

/// The source at (left, top) of `out`, and around it what the mode says.
void pad(const Raster& source, std::uint32_t left, std::uint32_t top, PadMode mode, const Fill& fill,
         const RasterOut& out);

/// The rectangle of out's size at (left, top) of the source. What lies outside the source is black.
void crop(const Raster& source, std::int64_t left, std::int64_t top, const RasterOut& out);

// Flips and quarter turns.
//
// Threads: pure functions. `out` does not overlap the source.

void flip_across(const Raster& source, std::uint8_t* out);
/// In place.
void flip_down(std::uint8_t* pixels, std::size_t stride, std::uint32_t height);
void rotate_180(const Raster& source, std::uint8_t* out);
/// Counterclockwise by 90 and by 270 degrees; `out` has the source's height as its width.
void rotate_90(const Raster& source, std::uint8_t* out);
void rotate_270(const Raster& source, std::uint8_t* out);

// The affine map to the nearest pixel, which Pillow computes in three ways: a map without rotation by sums in double,
// one whose positions are below 32768 in 16.16 fixed point, any other by sums in double.
//
// Threads: a pure function. Source: ImagingScaleAffine, affine_fixed and ImagingTransformAffine of Pillow's Geometry.c.

void warp_nearest(const Raster& source, const std::array<double, 6>& matrix, const Fill& fill, const RasterOut& out);

}  // namespace bale::image_detail
