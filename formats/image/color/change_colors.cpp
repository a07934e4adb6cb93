// Runs changes of color on blocks of pixels that stay in the nearest cache: their channels are taken apart once,
// changed by each of the changes, and put together again. This file is built without contraction of a * b + c, and once
// per instruction set.

#include <algorithm>
#include <cmath>

#include "bale/formats/image/color/color.hpp"
#include "bale/formats/image/color/color_change.hpp"
#include "bale/formats/image/color/hue_tables.hpp"
#include "bale/formats/image/color/plain_color.hpp"

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/color/change_colors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

std::uint64_t run_changes(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels,
                          bool with_sum) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < num_pixels; ++i, rgb += 3) {
    for (const ColorChange& change : changes) std::visit([&](const auto& one) { plain_change(one, rgb); }, change);
    if (with_sum) sum += plain_luma(rgb);
  }
  return sum;
}

std::uint64_t gray_sum(const std::uint8_t* rgb, std::size_t num_pixels) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < num_pixels; ++i) sum += plain_luma(rgb + i * 3);
  return sum;
}

void gray_bytes(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* out) {
  for (std::size_t i = 0; i < num_pixels; ++i) out[i] = plain_luma(rgb + i * 3);
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else

#include "bale/formats/image/color/color_vectors-inl.hpp"
#include "bale/formats/image/color/hue-inl.hpp"
#include "bale/formats/image/color/luma-inl.hpp"
#include "bale/formats/image/color/point-inl.hpp"
#include "bale/formats/image/color/saturation-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

template <typename Change>
void change_block(const Change& change, Planes& planes) {
  for_each_vector(planes, [&](const Pixels& pixels) { return changed(change, pixels); });
}

void change_block(const PointChange& change, Planes& planes) {
  change_values(change, 0, planes.red, k_block);
  change_values(change, 1, planes.green, k_block);
  change_values(change, 2, planes.blue, k_block);
}

void change_block_plainly(const SaturationChange& change, Planes& planes) {
  for (std::size_t i = 0; i < k_block; ++i) {
    std::uint8_t rgb[3] = {planes.red[i], planes.green[i], planes.blue[i]};
    plain_change(change, rgb);
    planes.red[i] = rgb[0];
    planes.green[i] = rgb[1];
    planes.blue[i] = rgb[2];
  }
}

void change_block_by_best(const SaturationChange& change, Planes& planes) {
#if BALE_AVX3_DL
  if (change.has_tables) return change_block(SaturationTables{change.up, change.down}, planes);
#endif
  std::abs(change.factor) < k_max_saturation ? change_block(change, planes) : change_block_plainly(change, planes);
}

void change_block(const ColorChange& change, Planes& planes) {
  if (const auto* point = std::get_if<PointChange>(&change)) return change_block(*point, planes);
  if (const auto* hue = std::get_if<HueChange>(&change)) return change_block(*hue, planes);
  if (const auto* gray = std::get_if<GrayChange>(&change)) return change_block(*gray, planes);
  change_block_by_best(std::get<SaturationChange>(change), planes);
}

}  // namespace

/// Returns the sum of the gray levels of the results, or 0.
std::uint64_t run_changes(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels,
                          bool with_sum) {
  if (changes.size() == 1 && !with_sum) {
    const auto* const point = std::get_if<PointChange>(&changes.front());
    if (point != nullptr && point->is_same_for_all_channels()) {
      change_values(*point, 0, rgb, num_pixels * 3);
      return 0;
    }
  }
  std::uint64_t sum = 0;
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split_pixels(rgb + at * 3, count, planes);
    for (const ColorChange& change : changes) change_block(change, planes);
    join_pixels(planes, count, rgb + at * 3);
    if (with_sum) sum += sum_luma(planes, count);
  }
  return sum;
}

std::uint64_t gray_sum(const std::uint8_t* rgb, std::size_t num_pixels) {
  std::uint64_t sum = 0;
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split_pixels(rgb + at * 3, count, planes);
    sum += sum_luma(planes, count);
  }
  return sum;
}

void gray_bytes(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* out) {
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split_pixels(rgb + at * 3, count, planes);
    change_block(GrayChange{}, planes);
    std::copy_n(planes.red, count, out + at);
  }
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace bale {
namespace image_detail {

HWY_EXPORT(run_changes);
HWY_EXPORT(gray_sum);
HWY_EXPORT(gray_bytes);

namespace {

std::uint8_t rounded_mean(std::uint64_t sum, std::size_t count) {
  return static_cast<std::uint8_t>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

}  // namespace

void change_colors(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels) {
  HWY_DYNAMIC_DISPATCH(run_changes)(changes, rgb, num_pixels, false);
}

std::uint8_t mean_gray_after(std::span<const ColorChange> changes, std::uint8_t* rgb, std::size_t num_pixels) {
  if (changes.empty()) return mean_gray(rgb, num_pixels);
  return num_pixels == 0 ? 0
                         : rounded_mean(HWY_DYNAMIC_DISPATCH(run_changes)(changes, rgb, num_pixels, true), num_pixels);
}

}  // namespace image_detail

std::uint8_t mean_gray(const std::uint8_t* rgb, std::size_t num_pixels) {
  using namespace image_detail;
  return num_pixels == 0 ? 0 : rounded_mean(HWY_DYNAMIC_DISPATCH(gray_sum)(rgb, num_pixels), num_pixels);
}

void gray_of(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* gray) {
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(gray_bytes)(rgb, num_pixels, gray);
}

}  // namespace bale
#endif
