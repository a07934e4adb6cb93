// Turning the hue of pixels, in integers: see hue_tables.hpp. Included once per target by change_colors.cpp.
#if defined(BALE_HUE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_HUE_INL
#undef BALE_HUE_INL
#else
#define BALE_HUE_INL
#endif

#include "bale/formats/image/color/point-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

#if BALE_AVX3_DL

constexpr HueTable reciprocal_bytes(unsigned shift) {
  return make_hue_table([&](unsigned value) {
    const unsigned reciprocal = value == 0 ? 0 : value == 1 ? 65535 : 65536 / value;
    return reciprocal >> shift & 255;
  });
}
constexpr HueTable k_reciprocal_low = reciprocal_bytes(0);
constexpr HueTable k_reciprocal_high = reciprocal_bytes(8);

/// Whether the product of 255 * value and a reciprocal can be too low by 2, not just by 1.
constexpr bool k_reciprocals_are_rough = false;

/// 65536 / value, rounded down, at most 65535; 0 for 0.
HWY_INLINE Words reciprocals(V8 v, const Words& /*split*/) {
  const V16 low = hn::BitCast(D16(), look_up(k_reciprocal_low.data(), v));
  const V16 high = hn::BitCast(D16(), look_up(k_reciprocal_high.data(), v));
  return {hn::OrAnd(hn::ShiftLeft<8>(high), low, words(0xFF)), hn::OrAnd(hn::ShiftRight<8>(low), high, words(0xFF00))};
}

/// 1 for hues that are one less if they are integers without rounding.
HWY_INLINE V8 is_one_less(V8 hue) { return look_up(k_is_one_less.data(), hue); }

/// Where the channels of pixels lie.
struct Places {
  V8 away;
  V8 bits;
};
HWY_INLINE Places places_of(V8 hue) { return {look_up(k_away.data(), hue), look_up(k_places.data(), hue)}; }

HWY_INLINE V8 placed(const Places& places, int channel, V8 high, V8 middle, V8 low) {
  const auto is_high = hn::TestBit(places.bits, bytes(1 << channel));
  const auto is_low = hn::TestBit(places.bits, bytes(8 << channel));
  return hn::IfThenElse(is_high, high, hn::IfThenElse(is_low, low, middle));
}

#else

constexpr bool k_reciprocals_are_rough = true;

HWY_INLINE V32 reciprocals(V32 value) {
  // Estimates have at least 11.4 correct bits on x86, and at least 7 elsewhere.
  constexpr int k_num_refinements = HWY_ARCH_X86 ? 0 : 2;
  const VFloat x = hn::ConvertTo(DFloat(), hn::BitCast(DI32(), value));
  VFloat estimate = hn::ApproximateReciprocal(x);
  for (int i = 0; i < k_num_refinements; ++i) {
    estimate = hn::Mul(estimate, hn::NegMulAdd(x, estimate, floats(2)));
  }
  // Adding 2^23 leaves an integer in the low bits. The rest makes sure that it is not above 65536 / value.
  return hn::BitCast(D32(), hn::MulAdd(estimate, floats(65500), floats(8388607.5F)));
}

HWY_INLINE V16 reciprocals(V16 values) {
  const V32 pairs = hn::BitCast(D32(), values);
  const V32 even = reciprocals(hn::And(pairs, hn::Set(D32(), 0xFFFF)));
  const V32 odd = reciprocals(hn::ShiftRight<16>(pairs));
  return hn::OddEven(hn::BitCast(D16(), hn::ShiftLeft<16>(odd)), hn::BitCast(D16(), even));
}

/// 65536 / value, less at most 1 and 1/1000 of it; any number for 0.
HWY_INLINE Words reciprocals(V8 /*v*/, const Words& split) { return {reciprocals(split.even), reciprocals(split.odd)}; }

constexpr std::array<std::uint8_t, 32> k_one_less_bits = [] {
  std::array<std::uint8_t, 32> bits{};
  for (std::size_t hue = 0; hue < 256; ++hue) {
    bits[hue / 8] = static_cast<std::uint8_t>(bits[hue / 8] | k_is_one_less[hue] << hue % 8);
  }
  return bits;
}();

HWY_INLINE V8 is_one_less(V8 hue) { return look_up_bit(k_one_less_bits.data(), hue); }

/// By the upper half of a hue: the sector of the first such hue, and the first one of the next sector, if it is one.
alignas(16) constexpr std::uint8_t k_sector[16] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5};
alignas(16) constexpr std::uint8_t k_next[16] = {255, 255, 43,  255, 255, 85,  255, 255,
                                                 255, 255, 170, 255, 255, 213, 255, 255};

/// By sector, of which 6 is 0: away = (2 * hue ^ flip) + offset.
alignas(16) constexpr std::uint8_t k_flip[16] = {255, 0, 255, 0, 255, 0, 255};
alignas(16) constexpr std::uint8_t k_offset[16] = {86, 171, 0, 1, 170, 87, 84};

/// By channel and sector: where it is the highest one, and where it is not the lowest one.
struct SectorMasks {
  alignas(16) std::uint8_t high[3][16];
  alignas(16) std::uint8_t not_low[3][16];
};
constexpr SectorMasks k_masks = [] {
  SectorMasks masks{};
  for (unsigned sector = 0; sector < 7; ++sector) {
    for (unsigned channel = 0; channel < 3; ++channel) {
      masks.high[channel][sector] = (hue_places(sector) >> channel & 1) != 0 ? 255 : 0;
      masks.not_low[channel][sector] = (hue_places(sector) >> (channel + 3) & 1) != 0 ? 0 : 255;
    }
  }
  return masks;
}();

struct Places {
  V8 away;
  V8 sector;
};
HWY_INLINE Places places_of(V8 hue) {
  const V8 upper = upper_bits<4>(hue);
  const V8 next = look_up_16(k_next, upper);
  const V8 sector = hn::Sub(look_up_16(k_sector, upper), hn::VecFromMask(D8(), hn::Eq(hn::Max(hue, next), hue)));
  const V8 twice = hn::Xor(hn::Add(hue, hue), look_up_16(k_flip, sector));
  return {hn::Add(twice, look_up_16(k_offset, sector)), sector};
}

/// Since low <= middle <= high.
HWY_INLINE V8 placed(const Places& places, int channel, V8 high, V8 middle, V8 low) {
  const V8 is_high = look_up_16(k_masks.high[channel], places.sector);
  const V8 is_not_low = look_up_16(k_masks.not_low[channel], places.sector);
  return hn::Min(hn::Max(middle, hn::And(high, is_high)), hn::Or(low, is_not_low));
}

#endif

/// A quotient, rounded down, and 1 if there is a rest.
struct Quotient {
  V16 whole;
  V16 has_rest;
};

/// 85 * part / (2 * range). 0 if range is 0.
HWY_INLINE Quotient hue_quotient(V16 part, V16 range, V16 reciprocal) {
  const V16 product = times(k_85, part);
  const V16 estimate = hn::ShiftRight<1>(hn::MulHigh(product, reciprocal));  // right, or one less
  const V16 divisor = hn::Add(range, range);
  const V16 rest = hn::Sub(product, hn::Mul(estimate, divisor));
  const V16 true_rest = hn::Min(rest, hn::Sub(rest, divisor));
  const V16 was_right = hn::VecFromMask(D16(), hn::Eq(rest, true_rest));
  return {hn::Add(hn::Add(estimate, words(1)), was_right), hn::Min(true_rest, words(1))};
}

/// 255 * range modulo high. 0 if high is 0.
HWY_INLINE V16 saturation_rest(V16 range, V16 high, V16 reciprocal) {
  const V16 product = hn::Sub(hn::ShiftLeft<8>(range), range);
  V16 rest = hn::Sub(product, hn::Mul(hn::MulHigh(product, reciprocal), high));
  if (k_reciprocals_are_rough) rest = hn::Min(rest, hn::Sub(rest, high));
  return hn::Min(rest, hn::Sub(rest, high));
}

/// (255 * range - rest) * away / 21675, to the nearest integer.
HWY_INLINE V16 drop_to_middle(V16 range, V16 rest, V16 away) {
  // range * away / 85, almost rounded to the nearest integer, and what is missing, in 21675ths.
  const V16 product = hn::Mul(range, away);
  const V16 whole = hn::MulHigh(hn::Add(product, words(43)), words(771));
  const V16 over = hn::Sub(product, times(k_85, whole));
  const V16 missing = hn::Sub(hn::Sub(hn::ShiftLeft<8>(over), over), hn::Mul(rest, away));
  const auto is_less = hn::Lt(hn::BitCast(DI16(), missing), hn::Set(DI16(), -10837));
  return hn::Add(whole, hn::BitCast(D16(), hn::VecFromMask(DI16(), is_less)));
}

HWY_INLINE V8 hue_of(const Pixels& pixels, V8 high, V8 low, V8 quotient, V8 has_rest) {
  const auto is_red = hn::Eq(pixels.red, high);
  const auto is_green = hn::Eq(pixels.green, high);
  const V8 base = hn::IfThenZeroElse(is_red, hn::IfThenElse(is_green, bytes(85), bytes(170)));
  const V8 preceding = hn::IfThenElse(is_red, pixels.blue, hn::IfThenElse(is_green, pixels.red, pixels.green));
  const V8 end = hn::IfThenElse(is_red, bytes(255), base);
  const V8 after = hn::Add(base, quotient);
  const V8 before = hn::Sub(end, hn::Add(quotient, has_rest));
  const V8 hue = hn::IfThenElse(hn::Eq(preceding, low), after, before);
  return hn::Sub(hue, hn::AndNot(has_rest, is_one_less(hue)));
}

HWY_INLINE Pixels changed(const HueChange& change, const Pixels& pixels) {
  const V8 higher = hn::Max(pixels.red, pixels.green);
  const V8 lower = hn::Min(pixels.red, pixels.green);
  const V8 high = hn::Max(higher, pixels.blue);
  const V8 low = hn::Min(lower, pixels.blue);
  const V8 range = hn::Sub(high, low);
  const Words parts = split(hn::Sub(hn::Max(lower, hn::Min(higher, pixels.blue)), low));
  const Words ranges = split(range);
  const Words highs = split(high);

  const Words of_range = reciprocals(range, ranges);
  const Quotient even = hue_quotient(parts.even, ranges.even, of_range.even);
  const Quotient odd = hue_quotient(parts.odd, ranges.odd, of_range.odd);
  const V8 hue = hue_of(pixels, high, low, join({even.whole, odd.whole}), join({even.has_rest, odd.has_rest}));
  const Places places = places_of(hn::Add(hue, bytes(change.steps)));

  const Words of_high = reciprocals(high, highs);
  const Words rests{saturation_rest(ranges.even, highs.even, of_high.even),
                    saturation_rest(ranges.odd, highs.odd, of_high.odd)};
  const hn::RebindToSigned<D8> signed_bytes;
  const V8 is_half = hn::BitCast(D8(), hn::BroadcastSignBit(hn::BitCast(signed_bytes, join(rests))));
  const V8 lowest = hn::Sub(low, is_half);
  const Words away = split(places.away);
  const V8 middle = hn::Sub(high, join({drop_to_middle(ranges.even, rests.even, away.even),
                                        drop_to_middle(ranges.odd, rests.odd, away.odd)}));
  return {placed(places, 0, high, middle, lowest), placed(places, 1, high, middle, lowest),
          placed(places, 2, high, middle, lowest)};
}

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
