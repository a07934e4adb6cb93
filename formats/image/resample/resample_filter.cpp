// Weights are computed in double, normalized to a sum of 1 and rounded to fixed point. This file is built without
// contraction of a * b + c: a fused step would change weights by one.
#include "bale/formats/image/resample/resample_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {
namespace {

constexpr double k_pi = 3.141592653589793;

/// sin(pi x) by the same operations on every machine, to a few units in the last place of 1: weights keep 22 bits.
double sine_of_pi_times(double x) {
  const double turns = std::floor(x + 0.5);
  const double rest = (x - turns) * k_pi;
  const double square = rest * rest;
  // The Taylor series up to the 21st power; |rest| <= pi / 2.
  constexpr double k_terms[] = {1.0 / 420, 1.0 / 342, 1.0 / 272, 1.0 / 210, 1.0 / 156,
                                1.0 / 110, 1.0 / 72,  1.0 / 42,  1.0 / 20,  1.0 / 6};
  double sum = 1.0;
  for (const double term : k_terms) sum = 1.0 - square * term * sum;
  return (static_cast<long long>(turns) & 1) == 0 ? rest * sum : -rest * sum;
}

struct Box {
  static constexpr double k_support = 0.5;
  static double at(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
};

struct Hamming {
  static constexpr double k_support = 1.0;
  static double at(double x) {
    x = std::abs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    return sine_of_pi_times(x) / (x * k_pi) * (0.54 + 0.46 * sine_of_pi_times(x + 0.5));
  }
};

struct Lanczos {
  static constexpr double k_support = 3.0;
  static double at(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }
  static double sinc(double x) { return x == 0.0 ? 1.0 : sine_of_pi_times(x) / (x * k_pi); }
};

/// Calls use(kernel) with the kernel of the filter.
template <class Use>
void with_kernel(Filter filter, const Use& use) {
  switch (filter) {
    case Filter::nearest:  // has no weights: see NearestResize
    case Filter::bilinear:
      return use(Triangle());
    case Filter::bicubic:
      return use(Cubic());
    case Filter::box:
      return use(Box());
    case Filter::hamming:
      return use(Hamming());
    case Filter::lanczos:
      return use(Lanczos());
  }
}

double support_of(Filter filter) {
  double support = 0;
  with_kernel(filter, [&](auto kernel) { support = decltype(kernel)::k_support; });
  return support;
}

/// Weights of the taps from `first` on; `raw`, which gets them before they are rounded, and `weights` have room for
/// `num_taps`.
template <class Kernel>
void weigh(const AxisGrid& grid, double center, std::uint32_t first, std::uint32_t num_taps, double* raw,
           std::int32_t* weights) {
  double sum = 0;
  for (std::uint32_t i = 0; i < num_taps; ++i) {
    raw[i] = grid.raw_weight<Kernel>(first + i, center);
    sum += raw[i];
  }
  for (std::uint32_t i = 0; i < num_taps; ++i) {
    if (sum != 0.0) raw[i] /= sum;
    weights[i] = to_fixed(raw[i]);
  }
}

/// Calls take(i, input position) for each of the positions, in rising order.
template <class Take>
void for_each_position(const AxisSpec& spec, const Take& take) {
  const double step = static_cast<double>(spec.input) / spec.output;
  double at = step * 0.5;
  for (std::uint32_t i = 0; i < spec.first; ++i) at += step;
  for (std::uint32_t i = 0; i < spec.count; ++i, at += step) {
    take(i, std::min(static_cast<std::uint32_t>(at), spec.input - 1));
  }
}

/// The input positions, counted from the first that is needed.
void positions_of(const AxisSpec& spec, std::uint32_t scale, std::vector<std::uint32_t>& positions) {
  positions.resize(spec.count);
  std::uint32_t origin = 0;
  for_each_position(spec, [&](std::uint32_t i, std::uint32_t position) {
    if (i == 0) origin = position;
    positions[spec.mirror ? spec.count - 1 - i : i] = (position - origin) * scale;
  });
}

template <std::size_t pixel_bytes>
void gather(const std::uint8_t* row, const std::vector<std::uint32_t>& columns, std::uint8_t* out) {
  for (const std::uint32_t column : columns) {
    for (std::size_t i = 0; i < pixel_bytes; ++i) out[i] = row[column + i];
    out += pixel_bytes;
  }
}

void gather_any(const std::uint8_t* row, const std::vector<std::uint32_t>& columns, std::uint32_t pixel_bytes,
                std::uint8_t* out) {
  switch (pixel_bytes) {
    case 1:
      return gather<1>(row, columns, out);
    case 2:
      return gather<2>(row, columns, out);
    case 3:
      return gather<3>(row, columns, out);
    default:
      return gather<4>(row, columns, out);
  }
}

}  // namespace

AxisSpan axis_needs(const AxisSpec& spec) {
  const std::uint32_t last = spec.first + spec.count - 1;
  if (spec.input == spec.output) return {spec.first, last + 1};
  if (spec.filter == Filter::nearest) return nearest_needs(spec);
  const AxisGrid grid(spec.input, spec.output, support_of(spec.filter));
  return {grid.taps(grid.center(spec.first)).first, grid.taps(grid.center(last)).end};
}

void AxisFilter::assign(const AxisSpec& spec, bool exact) {
  const bool same_size = spec.input == spec.output;
  const AxisGrid grid(spec.input, spec.output, support_of(spec.filter));
  const auto position_of = [&](std::uint32_t i) { return spec.first + (spec.mirror ? spec.count - 1 - i : i); };
  const std::uint32_t origin = axis_needs(spec).first;
  first_.resize(spec.count);
  num_taps_.resize(spec.count);
  std::uint32_t most_taps = 0;
  for (std::uint32_t i = 0; i < spec.count; ++i) {
    const std::uint32_t position = position_of(i);
    const AxisSpan taps = same_size ? AxisSpan{position, position + 1} : grid.taps(grid.center(position));
    first_[i] = taps.first - origin;
    num_taps_[i] = taps.end - taps.first;
    most_taps = std::max(most_taps, num_taps_[i]);
  }
  taps_stride_ = round_up(most_taps, 4U);
  weights_.assign(std::size_t{spec.count} * taps_stride_, 0);
  raw_.resize(most_taps);
  if (exact) exact_.assign(std::size_t{spec.count} * taps_stride_, 0);
  with_kernel(spec.filter, [&](auto kernel) {
    for (std::uint32_t i = 0; i < spec.count; ++i) {
      std::int32_t* weights = weights_.data() + std::size_t{i} * taps_stride_;
      if (same_size) {
        weights[0] = 1 << k_fraction_bits;
        raw_[0] = 1;
      } else {
        weigh<decltype(kernel)>(grid, grid.center(position_of(i)), origin + first_[i], num_taps_[i], raw_.data(),
                                weights);
      }
      if (exact) std::copy_n(raw_.data(), num_taps_[i], exact_.data() + std::size_t{i} * taps_stride_);
    }
  });
}

AxisSpan nearest_needs(const AxisSpec& spec) {
  AxisSpan span;
  for_each_position(spec, [&](std::uint32_t i, std::uint32_t position) {
    if (i == 0) span.first = position;
    span.end = position + 1;
  });
  return span;
}

void NearestResize::run(const AxisSpec& across, const AxisSpec& down, const NearestSource& source, std::uint8_t* out,
                        std::size_t out_stride) {
  positions_of(across, source.channels, columns_);
  positions_of(down, 1, rows_);
  for (std::size_t y = 0; y < rows_.size(); ++y, out += out_stride) {
    if (y > 0 && rows_[y] == rows_[y - 1]) {
      std::memcpy(out, out - out_stride, columns_.size() * source.channels);
      continue;
    }
    const std::uint8_t* row = source.pixels + rows_[y] * source.stride;
    gather_any(row, columns_, source.channels, out);
  }
}

}  // namespace bale::image_detail
