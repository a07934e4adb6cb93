// The results are Pillow's: blending in float, truncated, not rounded (its Blend.c), gray in fixed point, HSV in 8 bits (its
// Convert.c). This file is built without contraction of a * b + c, and once per instruction set.
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

const hn::CappedTag<float, 16> k_floats;
const hn::RebindToSigned<decltype(k_floats)> k_ints;
const hn::Rebind<std::uint8_t, decltype(k_floats)> k_bytes;
const hn::Rebind<std::int16_t, decltype(k_floats)> k_shorts;
using Floats = hn::Vec<decltype(k_floats)>;
using Ints = hn::Vec<decltype(k_ints)>;

Floats load_floats(const std::uint8_t* plane) {
  return hn::ConvertTo(k_floats, hn::PromoteTo(k_ints, hn::Load(k_bytes, plane)));
}
Floats load_floats(const std::int16_t* plane) {
  return hn::ConvertTo(k_floats, hn::PromoteTo(k_ints, hn::Load(k_shorts, plane)));
}
void store(Ints values, std::uint8_t* plane) { hn::Store(hn::DemoteTo(k_bytes, values), k_bytes, plane); }
Floats constant(float value) { return hn::Set(k_floats, value); }

const hn::CappedTag<std::uint16_t, 32> k_words;
const hn::Rebind<std::uint8_t, decltype(k_words)> k_word_bytes;
using Words = hn::Vec<decltype(k_words)>;

Words load_words(const std::uint8_t* plane) { return hn::PromoteTo(k_words, hn::Load(k_word_bytes, plane)); }
Words weighted(Words red, std::uint16_t of_red, Words green, std::uint16_t of_green, Words blue, std::uint16_t of_blue) {
  return hn::Add(hn::Add(hn::Mul(red, hn::Set(k_words, of_red)), hn::Mul(green, hn::Set(k_words, of_green))),
                 hn::Mul(blue, hn::Set(k_words, of_blue)));
}

/// (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16, in 16 bits: the weights are split into their high and low
/// bytes, whose sums are 255 and 256, so that no sum is above 65,535.
Words luma(Words red, Words green, Words blue) {
  const Words high = weighted(red, 19595 >> 8, green, 38470 >> 8, blue, 7471 >> 8);
  const Words low = weighted(red, 19595 & 255, green, 38470 & 255, blue, 7471 & 255);
  return hn::ShiftRight<8>(hn::Add(high, hn::Add(hn::ShiftRight<8>(low), hn::Set(k_words, 0x80))));
}

/// The gray levels of the pixels into `out`, which may be one of the planes.
void gray_block(const Planes& planes, std::uint8_t* out) {
  for (std::size_t i = 0; i < k_block; i += hn::Lanes(k_words)) {
    const Words gray = luma(load_words(planes.red + i), load_words(planes.green + i), load_words(planes.blue + i));
    hn::Store(hn::DemoteTo(k_word_bytes, hn::BitCast(hn::RebindToSigned<decltype(k_words)>(), gray)), k_word_bytes, out + i);
  }
}

/// Calls change(i) for the first of each group of lanes in a block.
template <typename Change>
void for_each_group(const Change& change) {
  for (std::size_t i = 0; i < k_block; i += hn::Lanes(k_floats)) change(i);
}

std::uint8_t blend(int from, int to, float factor) {
  float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
  mixed = mixed > 0.0F ? mixed : 0.0F;
  mixed = mixed < 255.0F ? mixed : 255.0F;
  return static_cast<std::uint8_t>(static_cast<int>(mixed));
}

/// The same without its limits, which store() has: below 0 the number is truncated toward 0, and cut off there.
Ints blend(Floats from, Floats to, Floats factor) {
  return hn::ConvertTo(k_ints, hn::Add(from, hn::Mul(factor, hn::Sub(to, from))));
}

void saturate_block(Planes& planes, float factor) {
  alignas(64) std::uint8_t gray_levels[k_block];
  gray_block(planes, gray_levels);
  const Floats factors = constant(factor);
  for_each_group([&](std::size_t i) {
    const Floats gray = load_floats(gray_levels + i);
    store(blend(gray, load_floats(planes.red + i), factors), planes.red + i);
    store(blend(gray, load_floats(planes.green + i), factors), planes.green + i);
    store(blend(gray, load_floats(planes.blue + i), factors), planes.blue + i);
  });
}

/// 1 / x, within a few units in the last place.
Floats reciprocal(Floats x) {
  constexpr int num_refinements = HWY_ARCH_ARM ? 2 : 1;  // the estimates have 8 bits there, elsewhere 12 or more
  Floats estimate = hn::ApproximateReciprocal(x);
  for (int i = 0; i < num_refinements; ++i) estimate = hn::Mul(estimate, hn::NegMulAdd(x, estimate, constant(2)));
  return estimate;
}

/// Added to a number from 0 to 2^22, it leaves the nearest integer in the low bits.
constexpr float k_rounder = 3 << 22;
Floats with_rounder(Floats x) { return hn::Add(x, constant(k_rounder)); }
Floats without_rounder(Floats x) { return hn::Sub(x, constant(k_rounder)); }
/// For numbers that are integers or at least 1/512 away from one: makes the nearest integer the one below.
constexpr float k_to_floor = -0.5F + 1.0F / 1024;

// A pixel is converted to 8-bit HSV, its hue turned, and converted back. Pillow's Convert.c computes in a mixture of float
// and double. Its results can be had without doubles; all of them were compared:
// - Saturation is 255 * range / value, rounded down exactly.
// - Hue is sixths / 6 of the circle, both in float, times 255 and rounded down exactly.
// - Of value * (1 - saturation * part / 255^2) the nearest integer is taken, and the fraction is never 1/2.

/// a / b, rounded correctly, for the few numbers that occur here. `estimate` is about 1 / b.
Floats quotient(Floats a, Floats b, Floats estimate) {
#if HWY_NATIVE_FMA
  const Floats first = hn::Mul(a, estimate);
  return hn::MulAdd(hn::NegMulAdd(first, b, a), estimate, first);
#else
  static_cast<void>(estimate);
  return hn::Div(a, b);
#endif
}

/// What the hue of pixels is computed of. 16 bits, so that compilers vectorize the loop that makes them.
struct HueParts {
  alignas(64) std::int16_t high[k_block];    // of the three channels
  alignas(64) std::int16_t range[k_block];   // to the lowest one
  alignas(64) std::int16_t anchor[k_block];  // sixths = anchor - offset / range
  alignas(64) std::int16_t offset[k_block];
};

/// The hue lies beside that of the highest channel, by how far the middle one is below it: before it if the channel that
/// precedes it is the middle one, else after it.
void part_hue(const Planes& planes, HueParts& parts) {
  for (std::size_t i = 0; i < k_block; ++i) {
    const std::int16_t red = planes.red[i];
    const std::int16_t green = planes.green[i];
    const std::int16_t blue = planes.blue[i];
    const std::int16_t high = std::max(red, std::max(green, blue));
    const std::int16_t low = std::min(red, std::min(green, blue));
    const auto below = static_cast<std::int16_t>(2 * high + low - red - green - blue);
    const bool by_red = red == high;
    const bool by_green = green == high;
    const std::int16_t preceding_if_not_red = by_green ? red : green;
    const std::int16_t own_if_not_red = by_green ? 2 : 4;
    const bool is_after = (by_red ? blue : preceding_if_not_red) == low;
    const std::int16_t own = by_red ? std::int16_t{0} : own_if_not_red;
    const std::int16_t sign = is_after ? 1 : -1;
    parts.high[i] = high;
    parts.range[i] = static_cast<std::int16_t>(high - low);
    parts.anchor[i] = static_cast<std::int16_t>(own + sign);
    parts.offset[i] = static_cast<std::int16_t>(is_after ? below : -below);
  }
}

/// In 255ths of the circle, in the lowest byte.
Ints hue_of(Floats range, Floats anchor, Floats offset) {
  const Floats sixths = hn::Sub(anchor, quotient(offset, range, reciprocal(range)));
  const Floats part = quotient(sixths, constant(6), constant(1.0F / 6));
  const Floats hue = hn::IfThenElse(hn::Lt(sixths, hn::Zero(k_floats)), hn::Add(part, constant(1)), part);
  const Floats rounded = with_rounder(hn::Add(hn::Mul(hue, constant(255)), constant(k_to_floor)));
  // An integer is one too high if hue * 255 was rounded up to it. 256 * hue minus it is exact.
  const Floats rest = hn::Sub(hn::Mul(hue, constant(256)), without_rounder(rounded));
  const auto is_too_high = hn::RebindMask(k_ints, hn::Lt(rest, hue));
  const Ints integer = hn::BitCast(k_ints, rounded);
  return hn::IfThenElse(is_too_high, hn::Sub(integer, hn::Set(k_ints, 1)), integer);
}

void turn_block(Planes& planes, std::uint8_t steps) {
  alignas(64) std::uint8_t sector[k_block];  // sixths of the circle
  alignas(64) std::uint8_t lowest[k_block];
  alignas(64) std::uint8_t middle[k_block];
  HueParts parts;
  part_hue(planes, parts);
  for_each_group([&](std::size_t i) {
    const Floats value = load_floats(parts.high + i);
    const Floats range = load_floats(parts.range + i);
    const Ints hue = hue_of(hn::Max(range, constant(1)), load_floats(parts.anchor + i), load_floats(parts.offset + i));
    const Floats ratio = hn::Mul(hn::Mul(range, constant(255)), reciprocal(hn::Max(value, constant(1))));
    const Floats saturation = without_rounder(with_rounder(hn::Add(ratio, constant(k_to_floor))));
    const Ints turned = hn::And(hn::Add(hue, hn::Set(k_ints, steps)), hn::Set(k_ints, 255));
    const Ints sixths = hn::Add(hn::ShiftLeft<2>(turned), hn::Add(turned, turned));  // in 255ths
    const Ints next = hn::Add(sixths, hn::Set(k_ints, 1));
    const Ints whole = hn::ShiftRight<8>(hn::Add(next, hn::ShiftRight<8>(next)));  // sixths / 255
    const Ints part = hn::Sub(sixths, hn::Sub(hn::ShiftLeft<8>(whole), whole));    // sixths % 255
    const auto is_falling = hn::Ne(hn::And(whole, hn::Set(k_ints, 1)), hn::Zero(k_ints));
    const Ints away = hn::IfThenElse(is_falling, part, hn::Sub(hn::Set(k_ints, 255), part));
    const Floats product = hn::Mul(value, saturation);  // these products are below 2^24
    const Floats partial = hn::Mul(product, hn::ConvertTo(k_floats, away));
    const auto below_value = [&](Floats difference) {
      return hn::Sub(hn::BitCast(k_ints, with_rounder(value)), hn::BitCast(k_ints, with_rounder(difference)));
    };
    store(below_value(hn::Mul(product, constant(1.0F / 255))), lowest + i);
    store(below_value(hn::Mul(partial, constant(1.0F / 65025))), middle + i);
    store(whole, sector + i);
  });
  for (std::size_t i = 0; i < k_block; ++i) {
    const auto high = static_cast<std::uint8_t>(parts.high[i]);
    const auto mask = [&](int n) { return static_cast<std::uint8_t>(sector[i] == n ? 0xFF : 0); };
    const std::uint8_t at_0 = mask(0) | mask(6);
    const std::uint8_t at_1 = mask(1);
    const std::uint8_t at_2 = mask(2);
    const std::uint8_t at_3 = mask(3);
    const std::uint8_t at_4 = mask(4);
    const std::uint8_t at_5 = mask(5);
    planes.red[i] = static_cast<std::uint8_t>((high & (at_5 | at_0)) | (middle[i] & (at_1 | at_4)) |
                                              (lowest[i] & (at_2 | at_3)));
    planes.green[i] = static_cast<std::uint8_t>((high & (at_1 | at_2)) | (middle[i] & (at_3 | at_0)) |
                                                (lowest[i] & (at_4 | at_5)));
    planes.blue[i] = static_cast<std::uint8_t>((high & (at_3 | at_4)) | (middle[i] & (at_5 | at_2)) |
                                               (lowest[i] & (at_0 | at_1)));
  }
}

}  // namespace

void blend_with_level(std::uint8_t* values, std::size_t count, int level, float factor) {
  const Floats from = constant(static_cast<float>(level));
  const Floats factors = constant(factor);
  const std::size_t step = hn::Lanes(k_floats);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    const Ints bytes = hn::PromoteTo(k_ints, hn::LoadU(k_bytes, values + i));
    hn::StoreU(hn::DemoteTo(k_bytes, blend(from, hn::ConvertTo(k_floats, bytes), factors)), k_bytes, values + i);
  }
  for (; i < count; ++i) values[i] = blend(level, values[i], factor);
}

std::uint64_t sum_luma(const std::uint8_t* rgb, std::size_t num_pixels) {
  std::uint64_t sum = 0;
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    split(rgb + at * 3, std::min(k_block, num_pixels - at), planes);
    gray_block(planes, planes.red);
    std::uint32_t levels = 0;
    for (std::size_t i = 0; i < k_block; ++i) levels += planes.red[i];
    sum += levels;
  }
  return sum;
}

void saturate(std::uint8_t* rgb, std::size_t num_pixels, float factor) {
  for_each_block(rgb, num_pixels, [&](Planes& planes) { saturate_block(planes, factor); });
}

void turn_hue(std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t steps) {
  for_each_block(rgb, num_pixels, [&](Planes& planes) { turn_block(planes, steps); });
}

void gray_bytes(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* out) {
  Planes planes;
  for (std::size_t at = 0; at < num_pixels; at += k_block) {
    const std::size_t count = std::min(k_block, num_pixels - at);
    split(rgb + at * 3, count, planes);
    gray_block(planes, planes.red);
    std::copy_n(planes.red, count, out + at);
  }
}

void gray(std::uint8_t* rgb, std::size_t num_pixels) {
  for_each_block(rgb, num_pixels, [](Planes& planes) {
    gray_block(planes, planes.red);
    std::copy_n(planes.red, k_block, planes.green);
    std::copy_n(planes.red, k_block, planes.blue);
  });
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
