// Blending pixels with their gray level. Included once per target by change_colors.cpp.
#if defined(BALE_SATURATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_SATURATION_INL
#undef BALE_SATURATION_INL
#else
#define BALE_SATURATION_INL
#endif

#include "bale/formats/image/color/luma-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

/// Truncates. Highway's ConvertTo takes care of numbers that do not fit, which do not occur here.
HWY_INLINE VI32 truncated(VFloat v) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  return VI32{_mm512_cvttps_epi32(v.raw)};
#elif HWY_ARCH_X86 && HWY_MAX_BYTES == 32
  return VI32{_mm256_cvttps_epi32(v.raw)};
#elif HWY_ARCH_X86
  return VI32{_mm_cvttps_epi32(v.raw)};
#else
  return hn::ConvertTo(DI32(), v);
#endif
}

struct Floats {
  VFloat even;
  VFloat odd;
};

HWY_INLINE Floats to_floats(V16 v) {
  const V32 pairs = hn::BitCast(D32(), v);
  return {hn::ConvertTo(DFloat(), hn::BitCast(DI32(), hn::And(pairs, hn::Set(D32(), 0xFFFF)))),
          hn::ConvertTo(DFloat(), hn::BitCast(DI32(), hn::ShiftRight<16>(pairs)))};
}
HWY_INLINE Floats to_floats(VI16 v) {
  const VI32 pairs = hn::BitCast(DI32(), v);
  return {hn::ConvertTo(DFloat(), hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs))),
          hn::ConvertTo(DFloat(), hn::ShiftRight<16>(pairs))};
}

/// The gray level and what is mixed with it, in 16 bits and in float.
HWY_INLINE V16 saturated(V16 gray, const Floats& gray_floats, V16 value, VFloat factor) {
  const Floats differences = to_floats(hn::BitCast(DI16(), hn::Sub(value, gray)));
  const VI32 even = truncated(hn::Add(gray_floats.even, hn::Mul(factor, differences.even)));
  const VI32 odd = truncated(hn::Add(gray_floats.odd, hn::Mul(factor, differences.odd)));
  const VI16 mixed = hn::OddEven(hn::BitCast(DI16(), hn::ShiftLeft<16>(odd)), hn::BitCast(DI16(), even));
  return hn::BitCast(D16(), hn::Min(hn::Max(mixed, hn::Zero(DI16())), hn::Set(DI16(), 255)));
}

/// Results must fit into 16 bits.
constexpr float k_max_saturation = 100;

HWY_INLINE Pixels changed(const SaturationChange& change, const Pixels& pixels) {
  const VFloat factor = floats(change.factor);
  const Words red = split(pixels.red);
  const Words green = split(pixels.green);
  const Words blue = split(pixels.blue);
  const Words gray{luma(red.even, green.even, blue.even), luma(red.odd, green.odd, blue.odd)};
  const Floats even = to_floats(gray.even);
  const Floats odd = to_floats(gray.odd);
  const auto mixed = [&](const Words& value) {
    return join({saturated(gray.even, even, value.even, factor), saturated(gray.odd, odd, value.odd, factor)});
  };
  return {mixed(red), mixed(green), mixed(blue)};
}

#if BALE_AVX3_DL

/// Changes by tables.
struct SaturationTables {
  const PointTable& up;
  const PointTable& down;
};

/// One of the two differences is 0, and so is what the tables have for it.
HWY_INLINE V8 saturated(const SaturationTables& tables, V8 gray, V8 value) {
  const V8 up = look_up(tables.up.data(), hn::SaturatedSub(value, gray));
  const V8 down = look_up(tables.down.data(), hn::SaturatedSub(gray, value));
  return hn::SaturatedSub(hn::SaturatedAdd(gray, up), down);
}

HWY_INLINE Pixels changed(const SaturationTables& tables, const Pixels& pixels) {
  const V8 gray = luma(pixels);
  return {saturated(tables, gray, pixels.red), saturated(tables, gray, pixels.green),
          saturated(tables, gray, pixels.blue)};
}

#endif

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
