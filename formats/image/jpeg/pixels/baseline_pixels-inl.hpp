// Upsampling of chroma and conversion to RGB. Included once per target by baseline_kernels.cpp.
#if defined(BALE_BASELINE_PIXELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_BASELINE_PIXELS_INL
#undef BALE_BASELINE_PIXELS_INL
#else
#define BALE_BASELINE_PIXELS_INL
#endif

#include "bale/formats/image/jpeg/pixels/baseline_dct-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

HWY_INLINE VU16 load_wide(const std::uint8_t* from) { return hn::PromoteTo(DU16(), hn::LoadU(DHalf8(), from)); }
HWY_INLINE VU16 three_times(VU16 value) { return hn::Add(value, hn::Add(value, value)); }

/// `even` and `odd` hold one byte per lane. Stores them interleaved.
HWY_INLINE void store_in_turn(VU16 even, VU16 odd, std::uint8_t* to) {
  hn::StoreU(hn::BitCast(D8(), hn::Or(even, hn::ShiftLeft<8>(odd))), D8(), to);
}

inline void upsample_across(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const DU16 d;
  for (std::size_t i = 0; i < count; i += k_lanes16) {
    const VU16 middle = three_times(load_wide(in + i));
    const VU16 even = hn::Add(hn::Add(middle, load_wide(in + i - 1)), hn::Set(d, 1));
    const VU16 odd = hn::Add(hn::Add(middle, load_wide(in + i + 1)), hn::Set(d, 2));
    store_in_turn(hn::ShiftRight<2>(even), hn::ShiftRight<2>(odd), out + 2 * i);
  }
}

inline void upsample_both(const ChromaRows& in, std::size_t count, bool /*lower*/, std::uint8_t* out) {
  const DU16 d;
  const auto column = [&in](std::ptrdiff_t i) {
    return hn::Add(three_times(load_wide(in.near + i)), load_wide(in.far + i));
  };
  for (std::size_t i = 0; i < count; i += k_lanes16) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const VU16 middle = three_times(column(at));
    const VU16 even = hn::Add(hn::Add(middle, column(at - 1)), hn::Set(d, 8));
    const VU16 odd = hn::Add(hn::Add(middle, column(at + 1)), hn::Set(d, 7));
    store_in_turn(hn::ShiftRight<4>(even), hn::ShiftRight<4>(odd), out + 2 * i);
  }
}

inline void upsample_down(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) {
  const DU16 d;
  const VU16 bias = hn::Set(d, lower ? 2 : 1);
  for (std::size_t i = 0; i < count; i += k_lanes16) {
    const VU16 sum = hn::Add(three_times(load_wide(in.near + i)), load_wide(in.far + i));
    const auto value = hn::BitCast(D16(), hn::ShiftRight<2>(hn::Add(sum, bias)));
    hn::StoreU(hn::DemoteTo(DHalf8(), value), DHalf8(), out + i);
  }
}

/// (a * b + 2^14) >> 15, as hn::MulFixedPoint15() computes it.
constexpr std::int32_t rounded_product(std::int32_t a, std::int32_t b) { return (a * b + (1 << 14)) >> 15; }

/// Whether `factor` gives for all chroma values, doubled, what jdcolor.c computes with `fixed16`.
constexpr bool equals_fixed16(std::int16_t factor, std::int32_t fixed16) {
  for (std::int32_t chroma = -k_center; chroma < k_center; ++chroma) {
    if (rounded_product(2 * chroma, factor) != (fixed16 * chroma + (1 << 15)) >> 16) return false;
  }
  return true;
}

constexpr std::int16_t k_red_of_twice_cr = k_red_of_cr / 4;
constexpr std::int16_t k_blue_of_twice_cb = k_blue_of_cb / 4 + 1;
static_assert(equals_fixed16(k_red_of_twice_cr, k_red_of_cr) && equals_fixed16(k_blue_of_twice_cb, k_blue_of_cb));
static_assert(k_green_of_cb % 2 == 0 && k_green_of_cr % 2 == 0);

struct Rgb16 {
  V16 red;
  V16 green;
  V16 blue;
};

/// Chroma values are doubled. Lanes after the last pixel were never written. Valgrind takes multiply() for one
/// operation on two pixels, so it reports the green of a last pixel as uninitialized. No lane depends on another.
HWY_INLINE Rgb16 convert(V16 luma, V16 cb, V16 cr) {
  const D16 d16;
  const V16 red = hn::Add(luma, hn::MulFixedPoint15(cr, hn::Set(d16, k_red_of_twice_cr)));
  const V16 blue = hn::Add(luma, hn::MulFixedPoint15(cb, hn::Set(d16, k_blue_of_twice_cb)));
  const V32 half = hn::Set(D32(), 1 << 15);
  const Sum sum = multiply_add({half, half}, interleave(cb, cr), pair_of(k_green_of_cb / 2, k_green_of_cr / 2));
  return {red, hn::Add(luma, descale<16>(sum)), blue};
}

/// Bytes as 16-bit values, in the order that pack_blocks() undoes.
struct Wide {
  V16 low;
  V16 high;
};

HWY_INLINE Wide load_luma(const std::uint8_t* from) {
  const D8 d8;
  const V8 bytes = hn::LoadU(d8, from);
  return {hn::BitCast(D16(), hn::InterleaveLower(d8, bytes, hn::Zero(d8))),
          hn::BitCast(D16(), hn::InterleaveUpper(d8, bytes, hn::Zero(d8)))};
}

/// Less the center, and doubled.
HWY_INLINE Wide load_chroma(const std::uint8_t* from) {
  const D8 d8;
  const V8 centered = hn::Xor(hn::LoadU(d8, from), hn::Set(d8, k_center));
  return {hn::ShiftRight<7>(hn::BitCast(D16(), hn::InterleaveLower(d8, hn::Zero(d8), centered))),
          hn::ShiftRight<7>(hn::BitCast(D16(), hn::InterleaveUpper(d8, hn::Zero(d8), centered)))};
}

inline void to_rgb(const std::uint8_t* luma, const std::array<const std::uint8_t*, 2>& chroma, std::size_t count,
                   std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; i += 2 * k_lanes16) {
    const Wide y = load_luma(luma + i);
    const Wide cb = load_chroma(chroma[0] + i);
    const Wide cr = load_chroma(chroma[1] + i);
    const Rgb16 low = convert(y.low, cb.low, cr.low);
    const Rgb16 high = convert(y.high, cb.high, cr.high);
    hn::StoreInterleaved3(pack_blocks(low.red, high.red), pack_blocks(low.green, high.green),
                          pack_blocks(low.blue, high.blue), D8(), rgb + 3 * i);
  }
}

inline void gray_to_rgb(const std::uint8_t* luma, std::size_t count, std::uint8_t* rgb) {
  const D8 d8;
  for (std::size_t i = 0; i < count; i += 2 * k_lanes16) {
    const V8 value = hn::LoadU(d8, luma + i);
    hn::StoreInterleaved3(value, value, value, d8, rgb + 3 * i);
  }
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
