// Each output row is the sum of rows, then of shifted copies of that sum. Built once per instruction set, without
// contraction of a * b + c, so that the result does not depend on the CPU.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/blur/blur.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/blur/gaussian_blur.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of floats, of which `k_together` are summed in registers.
template <class D_, std::size_t k_together>
struct Sums {
  using D = D_;
  using V = hn::Vec<D>;
  using Bytes = hn::Rebind<std::uint8_t, D>;
  using Integers = hn::Rebind<std::int32_t, D>;
  static constexpr std::size_t k_lanes = hn::MaxLanes(D());
  static constexpr std::size_t k_values = k_together * k_lanes;

  /// store(i, sum) for `count` values, k_values at least: the sum of weights[k] * load(k, i), in the order of k. The
  /// last vectors overlap those before them.
  template <class Load, class Store>
  static HWY_INLINE void each(const float* weights, std::size_t num_weights, std::size_t count, Load load,
                              Store store) {
    for (std::size_t begin = 0; begin < count; begin += k_values) {
      const std::size_t first = HWY_MIN(begin, count - k_values);
      V sums[k_together];
      for (V& sum : sums) sum = hn::Zero(D());
      for (std::size_t k = 0; k < num_weights; ++k) {
        const V weight = hn::Set(D(), weights[k]);
        for (std::size_t v = 0; v < k_together; ++v) {
          sums[v] = hn::Add(sums[v], hn::Mul(weight, load(k, first + v * k_lanes)));
        }
      }
      for (std::size_t v = 0; v < k_together; ++v) store(first + v * k_lanes, sums[v]);
    }
  }
  /// Of `count` bytes, k_values at least.
  static HWY_INLINE void convert(const std::uint8_t* bytes, std::size_t count, float* out) {
    for (std::size_t begin = 0; begin < count; begin += k_lanes) {
      const std::size_t i = HWY_MIN(begin, count - k_lanes);
      hn::StoreU(hn::ConvertTo(D(), hn::PromoteTo(Integers(), hn::LoadU(Bytes(), bytes + i))), D(), out + i);
    }
  }
  /// Rounded to the nearest, ties to even. Of values that are not negative.
  static HWY_INLINE void store_bytes(V values, std::uint8_t* out) {
    const V whole = hn::Set(D(), 12582912.0F);  // 1.5 * 2^23: adding it rounds to a whole number
    const V rounded = hn::Min(hn::Sub(hn::Add(values, whole), whole), hn::Set(D(), 255.0F));
    hn::StoreU(hn::DemoteTo(Bytes(), hn::ConvertTo(Integers(), rounded)), Bytes(), out);
  }
};

using WideSums = Sums<hn::ScalableTag<float>, 4>;
using NarrowSums = Sums<hn::CappedTag<float, 1>, 1>;

void to_floats(const std::uint8_t* bytes, std::size_t count, float* out) {
  if (count < WideSums::k_values) return NarrowSums::convert(bytes, count, out);
  WideSums::convert(bytes, count, out);
}

template <class S>
HWY_INLINE void sum_rows_by(const float* const* rows, const float* weights, std::size_t num_rows, std::size_t count,
                            float* sums) {
  S::each(
      weights, num_rows, count,
      [&](std::size_t k, std::size_t i) HWY_ATTR { return hn::LoadU(typename S::D(), rows[k] + i); },
      [&](std::size_t i, typename S::V sum) HWY_ATTR { hn::StoreU(sum, typename S::D(), sums + i); });
}

/// sums[i] = the sum of weights[k] * rows[k][i].
void sum_rows(const float* const* rows, const float* weights, std::size_t num_rows, std::size_t count, float* sums) {
  if (count < WideSums::k_values) return sum_rows_by<NarrowSums>(rows, weights, num_rows, count, sums);
  sum_rows_by<WideSums>(rows, weights, num_rows, count, sums);
}

template <class S>
HWY_INLINE void sum_shifted_by(const float* sums, const float* weights, std::size_t num_taps, std::size_t count,
                               std::uint8_t* out) {
  S::each(
      weights, num_taps, count,
      [&](std::size_t k, std::size_t i) HWY_ATTR { return hn::LoadU(typename S::D(), sums + i + k * 3); },
      [&](std::size_t i, typename S::V sum) HWY_ATTR { S::store_bytes(sum, out + i); });
}

/// out[i] = the sum of weights[k] * sums[i + 3 k], rounded to the nearest byte, ties to even.
void sum_shifted(const float* sums, const float* weights, std::size_t num_taps, std::size_t count, std::uint8_t* out) {
  if (count < WideSums::k_values) return sum_shifted_by<NarrowSums>(sums, weights, num_taps, count, out);
  sum_shifted_by<WideSums>(sums, weights, num_taps, count, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "bale/formats/base/math/portable_math.hpp"
#include "bale/formats/image/warp/warp.hpp"

namespace bale::image_detail {
namespace {

HWY_EXPORT(to_floats);
HWY_EXPORT(sum_rows);
HWY_EXPORT(sum_shifted);

/// torchvision's _get_gaussian_kernel1d, with the exponential in double.
void gaussian_kernel(std::uint32_t size, double sigma, float* weights) {
  const double middle = (size - 1) * 0.5;
  float sum = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const float distance = static_cast<float>(i - middle) / static_cast<float>(sigma);
    const double exponent = std::max(-0.5 * static_cast<double>(distance * distance), -700.0);
    weights[i] = static_cast<float>(portable_exp(exponent));
    sum += weights[i];
  }
  for (std::uint32_t i = 0; i < size; ++i) weights[i] /= sum;
}

/// Continues a row of pixels by reflection, `margin` pixels at both sides. The row starts behind the first margin.
void reflect_row(float* row, std::uint32_t width, std::uint32_t margin) {
  float* first = row + std::size_t{margin} * 3;
  const auto copy = [&](std::int64_t x) {
    const std::uint32_t from = reflected(x, width);
    for (std::int64_t channel = 0; channel < 3; ++channel) first[x * 3 + channel] = first[from * 3 + channel];
  };
  for (std::int64_t x = 1; x <= margin; ++x) {
    copy(-x);
    copy(std::int64_t{width} - 1 + x);
  }
}

}  // namespace

void Blurrer::gaussian(const Raster& source, std::uint32_t kernel_width, std::uint32_t kernel_height, double sigma_x,
                       double sigma_y, std::uint8_t* out) {
  kernels_.resize(std::size_t{kernel_width} + kernel_height);
  float* across = kernels_.data();
  float* down = across + kernel_width;
  gaussian_kernel(kernel_width, sigma_x, across);
  gaussian_kernel(kernel_height, sigma_y, down);
  const std::uint32_t margin = kernel_width / 2;
  const std::size_t stride = source.stride();
  // The rows that a sum needs as floats, each in place of the row num_kept above it; then the sum.
  const std::size_t num_kept = std::min(kernel_height, source.height);
  floats_.resize((num_kept + 1) * stride + std::size_t{margin} * 6);
  const auto row_of = [&](std::uint32_t line) { return floats_.data() + line % num_kept * stride; };
  float* const sum = floats_.data() + num_kept * stride;
  std::vector<const float*> rows(kernel_height);
  std::uint32_t converted = 0;
  for (std::uint32_t y = 0; y < source.height; ++y) {
    for (; converted < source.height && converted + kernel_height / 2 < y + kernel_height; ++converted) {
      HWY_DYNAMIC_DISPATCH(to_floats)(source.pixels + converted * stride, stride, row_of(converted));
    }
    for (std::uint32_t k = 0; k < kernel_height; ++k) {
      rows[k] = row_of(reflected(std::int64_t{y} + k - kernel_height / 2, source.height));
    }
    HWY_DYNAMIC_DISPATCH(sum_rows)(rows.data(), down, kernel_height, stride, sum + std::size_t{margin} * 3);
    reflect_row(sum, source.width, margin);
    HWY_DYNAMIC_DISPATCH(sum_shifted)(sum, across, kernel_width, stride, out + y * stride);
  }
}

}  // namespace bale::image_detail
#endif
