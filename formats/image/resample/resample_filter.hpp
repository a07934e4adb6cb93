// The filter of one axis of a resize: which input pixels each position is made of, and with which weights, as Pillow
// computes them (precompute_coeffs and normalize_coeffs_8bpc of its Resample.c). Internal.
//
// No shared state. Memory is reused from one filter to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/resample/resample_weights.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace bale::image_detail {

/// Positions [first, first + count) of an axis of `input` pixels that is resized to `output`.
struct AxisSpec {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  Filter filter = Filter::bilinear;
  bool mirror = false;  // reverses these positions
};

/// The part of the input that these positions need. An axis that keeps its size needs the same positions.
AxisSpan axis_needs(const AxisSpec& spec);

class AxisFilter {
 public:
  /// `exact` also keeps the weights before they are rounded.
  void assign(const AxisSpec& spec, bool exact = false);

  std::uint32_t size() const { return static_cast<std::uint32_t>(first_.size()); }
  /// The first input pixel of position i, counted from the start of axis_needs().
  std::uint32_t first(std::size_t i) const { return first_[i]; }
  std::uint32_t num_taps(std::size_t i) const { return num_taps_[i]; }
  /// Fixed point with k_fraction_bits; zeros from num_taps(i) to taps_stride().
  const std::int32_t* weights(std::size_t i) const { return weights_.data() + i * taps_stride_; }
  /// The weights of position i in double, if assign() was asked to keep them.
  const double* exact_weights(std::size_t i) const { return exact_.data() + i * taps_stride_; }
  /// The largest number of taps of any position, rounded up to a multiple of four.
  std::uint32_t taps_stride() const { return taps_stride_; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> num_taps_;
  std::vector<std::int32_t> weights_;
  std::vector<double> raw_;
  std::vector<double> exact_;
  std::uint32_t taps_stride_ = 0;
};

// Resizing to the nearest pixel, as Pillow's Image.resize(NEAREST) does: positions are sums of a step in double, so
// rounding accumulates. Internal.
//
// Threads: used by one thread at a time. Source: ImagingScaleAffine of Pillow's Geometry.c.

/// The part of the input that these positions are taken from.
AxisSpan nearest_needs(const AxisSpec& spec);

/// Pixels that start at axis_needs() of both axes.
struct NearestSource {
  const std::uint8_t* pixels = nullptr;
  std::size_t stride = 0;
  std::uint32_t channels = 3;  // bytes of a pixel: 1 to 4
};

class NearestResize {
 public:
  void run(const AxisSpec& across, const AxisSpec& down, const NearestSource& source, std::uint8_t* out,
           std::size_t out_stride);

 private:
  std::vector<std::uint32_t> columns_;  // in bytes
  std::vector<std::uint32_t> rows_;
};

}  // namespace bale::image_detail
