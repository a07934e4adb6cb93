// Upsampling of chroma and conversion to RGB. Included once per target by baseline_kernels.cpp.
#if defined(BALE_BASELINE_PIXELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_BASELINE_PIXELS_INL
#undef BALE_BASELINE_PIXELS_INL
#else
#define BALE_BASELINE_PIXELS_INL
#endif

#include "bale/formats/image/jpeg/pixels/baseline_dct-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

using DU16 = hn::RebindToUnsigned<D16>;
using VU16 = hn::Vec<DU16>;

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

// x * factor in 16-bit fixed point, rounded. Factors fit in 16 bits once multiples of 65536 are subtracted.
HWY_INLINE V16 rounded_product(V16 twice, std::int32_t factor) {
  const V16 product = hn::MulHigh(twice, hn::Set(D16(), static_cast<std::int16_t>(factor)));
  return hn::ShiftRight<1>(hn::Add(product, hn::Set(D16(), 1)));
}

struct Rgb16 {
  V16 red;
  V16 green;
  V16 blue;
};

HWY_INLINE Rgb16 convert(V16 luma, V16 cb, V16 cr) {
  const V16 red = hn::Add(hn::Add(luma, cr), rounded_product(hn::Add(cr, cr), k_red_of_cr - 65536));
  const V16 twice_cb = hn::Add(cb, cb);
  const V16 blue = hn::Add(hn::Add(luma, twice_cb), rounded_product(twice_cb, k_blue_of_cb - 2 * 65536));
  const Pairs both(cb, cr);
  const V32 half = hn::Set(D32(), 1 << 15);
  const Sum sum = add(multiply(both, k_green_of_cb, k_green_of_cr + 65536), {half, half});
  const V16 green = hn::Add(hn::Sub(luma, cr), descale<16>(sum));
  return {red, green, blue};
}

/// Bytes as 16-bit values, in the order that pack_blocks() undoes.
struct Wide {
  HWY_INLINE explicit Wide(const std::uint8_t* from) {
    const D8 d8;
    const V8 bytes = hn::LoadU(d8, from);
    low = hn::BitCast(D16(), hn::InterleaveLower(d8, bytes, hn::Zero(d8)));
    high = hn::BitCast(D16(), hn::InterleaveUpper(d8, bytes, hn::Zero(d8)));
  }
  V16 low;
  V16 high;
};

inline void to_rgb(const std::uint8_t* luma, const std::array<const std::uint8_t*, 2>& chroma, std::size_t count,
                   std::uint8_t* rgb) {
  const V16 center = hn::Set(D16(), k_center);
  for (std::size_t i = 0; i < count; i += 2 * k_lanes16) {
    const Wide y(luma + i);
    const Wide cb(chroma[0] + i);
    const Wide cr(chroma[1] + i);
    const Rgb16 low = convert(y.low, hn::Sub(cb.low, center), hn::Sub(cr.low, center));
    const Rgb16 high = convert(y.high, hn::Sub(cb.high, center), hn::Sub(cr.high, center));
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
