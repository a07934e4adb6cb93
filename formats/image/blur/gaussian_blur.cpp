// Each output row is the sum of rows, then of shifted copies of that sum. Built once per instruction set, without
// contraction of a * b + c, so that the result does not depend on the CPU.
#include <algorithm>

#include "bale/formats/image/blur/blur.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/blur/gaussian_blur.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {

constexpr std::size_t k_block = 96;  // sums that stay in registers and the nearest cache

/// sums[i] = the sum of weights[k] * rows[k][i].
void sum_rows(const std::uint8_t* const* rows, const float* weights, std::size_t num_rows, std::size_t count,
              float* HWY_RESTRICT sums) {
  for (std::size_t begin = 0; begin < count; begin += k_block) {
    const std::size_t size = std::min(k_block, count - begin);
    alignas(64) float block[k_block] = {};
    for (std::size_t k = 0; k < num_rows; ++k) {
      const std::uint8_t* HWY_RESTRICT row = rows[k] + begin;
      const float weight = weights[k];
      for (std::size_t i = 0; i < size; ++i) block[i] += weight * static_cast<float>(row[i]);
    }
    std::copy_n(block, size, sums + begin);
  }
}

/// out[i] = the sum of weights[k] * sums[i + 3 k], rounded to the nearest byte, ties to even.
void sum_shifted(const float* HWY_RESTRICT sums, const float* weights, std::size_t num_taps, std::size_t count,
                 std::uint8_t* HWY_RESTRICT out) {
  for (std::size_t begin = 0; begin < count; begin += k_block) {
    const std::size_t size = std::min(k_block, count - begin);
    alignas(64) float block[k_block] = {};
    for (std::size_t k = 0; k < num_taps; ++k) {
      const float* HWY_RESTRICT from = sums + begin + k * 3;
      const float weight = weights[k];
      for (std::size_t i = 0; i < size; ++i) block[i] += weight * from[i];
    }
    for (std::size_t i = 0; i < size; ++i) {
      constexpr float k_whole = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
      float value = block[i] + k_whole - k_whole;
      value = value < 255.0F ? value : 255.0F;
      out[begin + i] = static_cast<std::uint8_t>(static_cast<int>(value));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "bale/formats/base/math/portable_math.hpp"
#include "bale/formats/image/warp/warp.hpp"

namespace bale::image_detail {
namespace {

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
  floats_.resize(stride + std::size_t{margin} * 6);
  std::vector<const std::uint8_t*> rows(kernel_height);
  for (std::uint32_t y = 0; y < source.height; ++y) {
    for (std::uint32_t k = 0; k < kernel_height; ++k) {
      const std::int64_t line = std::int64_t{y} + k - kernel_height / 2;
      rows[k] = source.pixels + reflected(line, source.height) * stride;
    }
    HWY_DYNAMIC_DISPATCH(sum_rows)
    (rows.data(), down, kernel_height, stride, floats_.data() + std::size_t{margin} * 3);
    reflect_row(floats_.data(), source.width, margin);
    HWY_DYNAMIC_DISPATCH(sum_shifted)(floats_.data(), across, kernel_width, stride, out + y * stride);
  }
}

}  // namespace bale::image_detail
#endif
