// The arithmetic is Pillow's: blending in float, truncated, not rounded (its Blend.c); gray in fixed point, and HSV in
// the mixture of float and double of its Convert.c. This file is built without contraction of a * b + c, and once per
// instruction set: compilers vectorize the plain loops over planes.
#include <algorithm>

#include "bale/formats/image/color.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/color.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t k_block = 256;

/// Some pixels, one channel per plane. Loops run over whole blocks: after the last pixel there are zeros.
struct Planes {
  alignas(64) std::uint8_t red[k_block];
  alignas(64) std::uint8_t green[k_block];
  alignas(64) std::uint8_t blue[k_block];
};

const hn::CappedTag<std::uint8_t, 64> k_lanes;

void split(const std::uint8_t* rgb, std::size_t count, Planes& planes) {
  std::size_t i = 0;
  const std::size_t step = hn::Lanes(k_lanes);
  for (; i + step <= count; i += step) {
    hn::Vec<decltype(k_lanes)> red, green, blue;
    hn::LoadInterleaved3(k_lanes, rgb + i * 3, red, green, blue);
    hn::Store(red, k_lanes, planes.red + i);
    hn::Store(green, k_lanes, planes.green + i);
    hn::Store(blue, k_lanes, planes.blue + i);
  }
  for (; i < k_block; ++i) {
    const bool there = i < count;
    planes.red[i] = there ? rgb[i * 3] : std::uint8_t{0};
    planes.green[i] = there ? rgb[i * 3 + 1] : std::uint8_t{0};
    planes.blue[i] = there ? rgb[i * 3 + 2] : std::uint8_t{0};
  }
}

void join(const Planes& planes, std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  const std::size_t step = hn::Lanes(k_lanes);
  for (; i + step <= count; i += step) {
    hn::StoreInterleaved3(hn::Load(k_lanes, planes.red + i), hn::Load(k_lanes, planes.green + i),
                          hn::Load(k_lanes, planes.blue + i), k_lanes, rgb + i * 3);
  }
  for (; i < count; ++i) {
    rgb[i * 3] = planes.red[i];
    rgb[i * 3 + 1] = planes.green[i];
    rgb[i * 3 + 2] = planes.blue[i];
  }
}

/// Calls change(planes) for the pixels, one block at a time.
template <typename Change>
void for_each_block(std::uint8_t* rgb, std::size_t num_pixels, const Change& change) {
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split(rgb + at * 3, count, planes);
    change(planes);
    join(planes, count, rgb + at * 3);
  }
}

int luma(int red, int green, int blue) { return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16; }

std::uint8_t blend(int from, int to, float factor) {
  float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
  mixed = mixed > 0.0F ? mixed : 0.0F;
  mixed = mixed < 255.0F ? mixed : 255.0F;
  return static_cast<std::uint8_t>(static_cast<int>(mixed));
}

void saturate_block(Planes& planes, float factor) {
  for (std::size_t i = 0; i < k_block; ++i) {
    const int red = planes.red[i];
    const int green = planes.green[i];
    const int blue = planes.blue[i];
    const int gray = luma(red, green, blue);
    planes.red[i] = blend(gray, red, factor);
    planes.green[i] = blend(gray, green, factor);
    planes.blue[i] = blend(gray, blue, factor);
  }
}

void gray_block(Planes& planes) {
  for (std::size_t i = 0; i < k_block; ++i) {
    const auto gray = static_cast<std::uint8_t>(luma(planes.red[i], planes.green[i], planes.blue[i]));
    planes.red[i] = gray;
    planes.green[i] = gray;
    planes.blue[i] = gray;
  }
}

/// Hue, saturation and value of the pixels, into red, green and blue. Two loops that select operands, not results:
/// compilers see branches in a larger loop and do not vectorize it.
void to_hsv_block(Planes& planes) {
  alignas(64) std::int16_t base[k_block];  // hue = base + (plus - minus) / range, in sixths of the circle
  alignas(64) std::int16_t plus[k_block];
  alignas(64) std::int16_t minus[k_block];
  alignas(64) std::int16_t range[k_block];
  for (std::size_t i = 0; i < k_block; ++i) {
    const std::int16_t red = planes.red[i];
    const std::int16_t green = planes.green[i];
    const std::int16_t blue = planes.blue[i];
    const std::int16_t high = std::max(red, std::max(green, blue));
    const std::int16_t low = std::min(red, std::min(green, blue));
    const bool by_red = red == high;
    const bool by_green = green == high;
    const std::int16_t plus_if_not_red = by_green ? red : green;
    const std::int16_t minus_if_not_red = by_green ? blue : red;
    const std::int16_t base_if_not_red = by_green ? 2 : 4;
    plus[i] = static_cast<std::int16_t>(high - (by_red ? blue : plus_if_not_red));
    minus[i] = static_cast<std::int16_t>(high - (by_red ? green : minus_if_not_red));
    base[i] = by_red ? std::int16_t{0} : base_if_not_red;
    range[i] = static_cast<std::int16_t>(high - low);
    planes.blue[i] = static_cast<std::uint8_t>(high);
  }
  for (std::size_t i = 0; i < k_block; ++i) {
    const auto divisor = static_cast<float>(range[i] + (range[i] == 0));
    const double plus_part = static_cast<double>(static_cast<float>(plus[i]) / divisor);
    const double minus_part = static_cast<double>(static_cast<float>(minus[i]) / divisor);
    const auto sixths = static_cast<float>(static_cast<double>(base[i]) + plus_part - minus_part);
    // From -1/6 to 5/6 of the circle. Pillow takes fmod(x + 1, 1), whose result is exact.
    const double ahead = static_cast<double>(sixths) / 6.0 + 1.0;
    const auto hue = static_cast<float>(ahead - static_cast<int>(ahead));
    const float saturation = static_cast<float>(range[i]) / static_cast<float>(planes.blue[i] + (planes.blue[i] == 0));
    planes.red[i] = static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(hue) * 255.0));
    planes.green[i] = static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(saturation) * 255.0));
  }
}

std::uint8_t round_to_byte(double x) { return static_cast<std::uint8_t>(static_cast<int>(x + 0.5)); }

/// The inverse, also in two loops.
void from_hsv_block(Planes& planes) {
  alignas(64) std::uint8_t sector[k_block];
  alignas(64) std::uint8_t low[k_block];
  alignas(64) std::uint8_t falling[k_block];
  alignas(64) std::uint8_t rising[k_block];
  for (std::size_t i = 0; i < k_block; ++i) {
    const auto value = static_cast<double>(planes.blue[i]);
    const double sixths = static_cast<double>(planes.red[i]) * 6.0 / 255.0;
    const int whole = static_cast<int>(sixths);  // 0 to 6
    const auto part = static_cast<float>(sixths - whole);
    const float saturation = static_cast<float>(planes.green[i]) / 255.0F;
    low[i] = round_to_byte(value * (1.0 - static_cast<double>(saturation)));
    falling[i] = round_to_byte(value * (1.0 - static_cast<double>(saturation * part)));
    rising[i] = round_to_byte(value * (1.0 - static_cast<double>(saturation) * (1.0 - static_cast<double>(part))));
    sector[i] = static_cast<std::uint8_t>(whole);
  }
  for (std::size_t i = 0; i < k_block; ++i) {
    const std::uint8_t value = planes.blue[i];
    const auto mask = [&](bool condition) { return static_cast<std::uint8_t>(condition ? 0xFF : 0); };
    const std::uint8_t at_0 = mask(sector[i] == 0) | mask(sector[i] == 6);
    const std::uint8_t at_1 = mask(sector[i] == 1);
    const std::uint8_t at_2 = mask(sector[i] == 2);
    const std::uint8_t at_3 = mask(sector[i] == 3);
    const std::uint8_t at_4 = mask(sector[i] == 4);
    const std::uint8_t at_5 = mask(sector[i] == 5);
    planes.red[i] = static_cast<std::uint8_t>((value & (at_5 | at_0)) | (falling[i] & at_1) | (low[i] & (at_2 | at_3)) |
                                              (rising[i] & at_4));
    planes.green[i] = static_cast<std::uint8_t>((value & (at_1 | at_2)) | (falling[i] & at_3) |
                                                (low[i] & (at_4 | at_5)) | (rising[i] & at_0));
    planes.blue[i] = static_cast<std::uint8_t>((value & (at_3 | at_4)) | (falling[i] & at_5) |
                                               (low[i] & (at_0 | at_1)) | (rising[i] & at_2));
  }
}

void turn_block(Planes& planes, std::uint8_t steps) {
  for (std::size_t i = 0; i < k_block; ++i) planes.red[i] = static_cast<std::uint8_t>(planes.red[i] + steps);
}

}  // namespace

void blend_with_level(std::uint8_t* values, std::size_t count, int level, float factor) {
  for (std::size_t i = 0; i < count; ++i) values[i] = blend(level, values[i], factor);
}

std::uint64_t sum_luma(const std::uint8_t* rgb, std::size_t num_pixels) {
  std::uint64_t sum = 0;
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    split(rgb + at * 3, std::min(k_block, num_pixels - at), planes);
    int block_sum = 0;
    for (std::size_t i = 0; i < k_block; ++i) block_sum += luma(planes.red[i], planes.green[i], planes.blue[i]);
    sum += static_cast<std::uint64_t>(block_sum);
  }
  return sum;
}

void saturate(std::uint8_t* rgb, std::size_t num_pixels, float factor) {
  for_each_block(rgb, num_pixels, [&](Planes& planes) { saturate_block(planes, factor); });
}

void turn_hue(std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t steps) {
  for_each_block(rgb, num_pixels, [&](Planes& planes) {
    to_hsv_block(planes);
    turn_block(planes, steps);
    from_hsv_block(planes);
  });
}

void gray_bytes(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* out) {
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split(rgb + at * 3, count, planes);
    for (std::size_t i = 0; i < k_block; ++i) {
      planes.red[i] = static_cast<std::uint8_t>(luma(planes.red[i], planes.green[i], planes.blue[i]));
    }
    std::copy_n(planes.red, count, out + at);
  }
}

void gray(std::uint8_t* rgb, std::size_t num_pixels) {
  for_each_block(rgb, num_pixels, [](Planes& planes) { gray_block(planes); });
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale {
namespace image_detail {
namespace {

HWY_EXPORT(blend_with_level);
HWY_EXPORT(sum_luma);
HWY_EXPORT(saturate);
HWY_EXPORT(turn_hue);
HWY_EXPORT(gray);
HWY_EXPORT(gray_bytes);

}  // namespace
}  // namespace image_detail

void adjust_brightness(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(blend_with_level)(rgb, num_pixels * 3, 0, static_cast<float>(factor));
}

std::uint8_t mean_gray(const std::uint8_t* rgb, std::size_t num_pixels) {
  if (num_pixels == 0) return 0;
  using namespace image_detail;
  const std::uint64_t sum = HWY_DYNAMIC_DISPATCH(sum_luma)(rgb, num_pixels);
  const double mean = static_cast<double>(sum) / static_cast<double>(num_pixels);
  return static_cast<std::uint8_t>(mean + 0.5);
}

void adjust_contrast(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  using namespace image_detail;
  const std::uint8_t level = mean_gray(rgb, num_pixels);
  HWY_DYNAMIC_DISPATCH(blend_with_level)(rgb, num_pixels * 3, level, static_cast<float>(factor));
}

void adjust_saturation(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(saturate)(rgb, num_pixels, static_cast<float>(factor));
}

void adjust_hue(std::uint8_t* rgb, std::size_t num_pixels, double turn) {
  // torchvision's np.int32(turn * 255).astype(np.uint8): truncated toward zero, then modulo 256. Its older
  // np.uint8(turn * 255) gives the same on x86, and is undefined for negative turns elsewhere.
  const auto steps = static_cast<std::uint8_t>(static_cast<int>(turn * 255));
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(turn_hue)(rgb, num_pixels, steps);
}

void make_gray(std::uint8_t* rgb, std::size_t num_pixels) {
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(gray)(rgb, num_pixels);
}

void gray_of(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* gray) {
  using namespace image_detail;
  HWY_DYNAMIC_DISPATCH(gray_bytes)(rgb, num_pixels, gray);
}

}  // namespace bale
#endif
