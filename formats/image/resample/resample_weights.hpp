// The arithmetic of a filter's weights, which a host and a device (loader/cuda) do alike: in double, operation by
// operation as Pillow does it (precompute_coeffs and normalize_coeffs_8bpc of its Resample.c). Internal.
//
// Everything here is constexpr, so that it can also be compiled for a device. Whoever includes it is built without
// contraction of a * b + c: a fused step would change weights by one.
#pragma once

#include <cstdint>

namespace bale::image_detail {

constexpr int k_fraction_bits = 32 - 8 - 2;
constexpr std::int32_t k_half = 1 << (k_fraction_bits - 1);

/// Pixels [first, end) of the input.
struct AxisSpan {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

struct Triangle {
  static constexpr double k_support = 1.0;
  static constexpr double at(double x) {
    x = x < 0 ? -x : x;
    return x < 1.0 ? 1.0 - x : 0.0;
  }
};

/// Keys' cubic convolution with a = -0.5.
struct Cubic {
  static constexpr double k_support = 2.0;
  static constexpr double at(double x) {
    constexpr double a = -0.5;
    x = x < 0 ? -x : x;
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
  }
};

/// How the positions of an axis of `output` pixels map to its `input` pixels.
struct AxisGrid {
  constexpr AxisGrid(std::uint32_t num_input, std::uint32_t num_output, double filter_support)
      : input(num_input),
        scale(static_cast<double>(num_input) / num_output),
        filter_scale(scale < 1.0 ? 1.0 : scale),
        step(1.0 / filter_scale),
        support(filter_support * filter_scale) {}

  constexpr double center(std::uint32_t position) const { return (position + 0.5) * scale; }
  constexpr AxisSpan taps(double of_center) const {
    const double low = of_center - support + 0.5;
    const double high = of_center + support + 0.5;
    return {low > 0 ? static_cast<std::uint32_t>(low) : 0U,
            static_cast<std::uint32_t>(high < static_cast<double>(input) ? high : static_cast<double>(input))};
  }
  /// No position has more taps.
  constexpr std::uint32_t most_taps() const { return static_cast<std::uint32_t>(2 * support) + 2; }
  /// Of the pixel `tap`, before the weights of a position are divided by their sum.
  template <class Kernel>
  constexpr double raw_weight(std::uint32_t tap, double of_center) const {
    return Kernel::at((static_cast<double>(tap) - of_center + 0.5) * step);
  }

  std::uint32_t input;
  double scale;
  double filter_scale;
  double step;
  double support;
};

/// In fixed point with k_fraction_bits.
constexpr std::int32_t to_fixed(double weight) {
  return static_cast<std::int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << k_fraction_bits));
}

/// The byte that a sum of products is rounded to. The sum began with k_half.
constexpr std::uint8_t round_to_byte(std::int32_t sum) {
  const std::int32_t value = sum >> k_fraction_bits;
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

}  // namespace bale::image_detail
