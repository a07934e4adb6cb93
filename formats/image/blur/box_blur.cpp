// Sums run down strips of 64 bytes whose rows lie side by side, so that compilers vectorize the loops over a row. Rows
// of the image become such strips by a transposition of 21 rows. Built once per instruction set, without contraction of
// a * b + c.
#include <algorithm>

#include "bale/formats/image/blur/blur.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/blur/box_blur.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {

constexpr std::size_t k_lanes = 64;

/// Moves the sums of the box by one row, and writes what they give. Not inlined: compilers vectorize it alone.
HWY_NOINLINE void box_row(const std::uint8_t* HWY_RESTRICT leaving, const std::uint8_t* HWY_RESTRICT entering,
                          const std::uint8_t* HWY_RESTRICT beyond, std::uint32_t weight, std::uint32_t edge_weight,
                          std::uint32_t* HWY_RESTRICT sums, std::uint8_t* HWY_RESTRICT out) {
  for (std::size_t i = 0; i < k_lanes; ++i) {
    const std::uint32_t left = leaving[i];
    const std::uint32_t sum = sums[i] + entering[i] - left;
    sums[i] = sum;
    const std::uint32_t total = sum * weight + (left + beyond[i]) * edge_weight;
    out[i] = static_cast<std::uint8_t>((total + (1U << 23)) >> 24);
  }
}

/// One pass of the box over `count` rows of a strip. Outside the strip its first and last rows continue.
void box_pass(const std::uint8_t* HWY_RESTRICT in, std::uint8_t* HWY_RESTRICT out, std::size_t count,
              const ExtendedBox& box) {
  const auto last = static_cast<std::int64_t>(count) - 1;
  const std::int64_t radius = box.radius;
  const std::uint32_t weight = box.weight;
  const std::uint32_t edge_weight = box.edge_weight;
  const auto row = [&](std::int64_t at) { return in + std::clamp<std::int64_t>(at, 0, last) * k_lanes; };
  // The sum of the box around position -1.
  alignas(64) std::uint32_t sums[k_lanes];
  for (std::size_t i = 0; i < k_lanes; ++i) sums[i] = in[i] * (box.radius + 1);
  for (std::int64_t at = 0; at < std::min(radius, last); ++at) {
    for (std::size_t i = 0; i < k_lanes; ++i) sums[i] += row(at)[i];
  }
  if (radius > last) {
    const auto rest = static_cast<std::uint32_t>(radius - last);
    for (std::size_t i = 0; i < k_lanes; ++i) sums[i] += row(last)[i] * rest;
  }
  for (std::int64_t at = 0; at <= last; ++at) {
    box_row(row(at - radius - 1), row(at + radius), row(at + radius + 1), weight, edge_weight, sums,
            out + static_cast<std::size_t>(at) * k_lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>
#include <cstring>

namespace bale::image_detail {
namespace {

HWY_EXPORT(box_pass);

constexpr std::size_t k_strip = 64;
constexpr int k_passes = 3;
constexpr std::uint32_t k_rows = k_strip / 3;  // of an image that one strip holds

/// Two strips: what a pass reads and what it writes.
struct Strips {
  std::uint8_t* in;
  std::uint8_t* out;

  void blur(std::size_t count, const ExtendedBox& box) {
    for (int pass = 0; pass < k_passes; ++pass) {
      HWY_DYNAMIC_DISPATCH(box_pass)(in, out, count, box);
      std::swap(in, out);
    }
  }
};

void blur_down(std::uint8_t* rgb, std::uint32_t width, std::uint32_t height, const ExtendedBox& box, Strips strips) {
  const std::size_t stride = std::size_t{width} * 3;
  for (std::size_t left = 0; left < stride; left += k_strip) {
    const std::size_t count = std::min(k_strip, stride - left);
    for (std::size_t y = 0; y < height; ++y) std::memcpy(strips.in + y * k_strip, rgb + y * stride + left, count);
    strips.blur(height, box);
    for (std::size_t y = 0; y < height; ++y) std::memcpy(rgb + y * stride + left, strips.in + y * k_strip, count);
  }
}

void blur_across(std::uint8_t* rgb, std::uint32_t width, std::uint32_t height, const ExtendedBox& box, Strips strips) {
  const std::size_t stride = std::size_t{width} * 3;
  for (std::uint32_t top = 0; top < height; top += k_rows) {
    const std::uint32_t count = std::min(k_rows, height - top);
    for (std::uint32_t y = 0; y < count; ++y) {
      const std::uint8_t* row = rgb + (top + y) * stride;
      std::uint8_t* to = strips.in + std::size_t{y} * 3;
      for (std::uint32_t x = 0; x < width; ++x) std::memcpy(to + x * k_strip, row + std::size_t{x} * 3, 3);
    }
    strips.blur(width, box);
    for (std::uint32_t y = 0; y < count; ++y) {
      std::uint8_t* row = rgb + (top + y) * stride;
      const std::uint8_t* from = strips.in + std::size_t{y} * 3;
      for (std::uint32_t x = 0; x < width; ++x) std::memcpy(row + std::size_t{x} * 3, from + x * k_strip, 3);
    }
  }
}

}  // namespace

GaussianBoxes gaussian_boxes(double sigma) {
  // In Pillow's mixture of float and double.
  const auto radius = static_cast<float>(sigma);
  const float variance = radius * radius / k_passes;
  const auto length = static_cast<float>(std::sqrt(12.0 * static_cast<double>(variance) + 1.0));
  const auto whole = static_cast<float>(std::floor((static_cast<double>(length) - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  const float box_radius = whole + part;
  GaussianBoxes result;
  result.identity = !(box_radius > 0);
  if (result.identity) return result;
  result.box.radius = static_cast<std::uint32_t>(box_radius);
  result.box.weight = static_cast<std::uint32_t>(static_cast<float>(1U << 24) / (box_radius * 2 + 1));
  result.box.edge_weight = ((1U << 24) - (result.box.radius * 2 + 1) * result.box.weight) / 2;
  return result;
}

void Blurrer::pillow_gaussian(std::uint8_t* rgb, std::uint32_t width, std::uint32_t height, double radius) {
  const GaussianBoxes boxes = gaussian_boxes(radius);
  if (boxes.identity) return;
  const std::size_t strip_bytes = std::size_t{std::max(width, height)} * k_strip;
  if (bytes_.size() < strip_bytes * 2) bytes_.resize(strip_bytes * 2);
  const Strips strips{bytes_.data(), bytes_.data() + strip_bytes};
  blur_across(rgb, width, height, boxes.box, strips);
  blur_down(rgb, width, height, boxes.box, strips);
}

}  // namespace bale::image_detail
#endif
