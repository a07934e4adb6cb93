// Gray levels: Pillow's convert("L"). Included once per target by change_colors.cpp.
#if defined(BALE_LUMA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_LUMA_INL
#undef BALE_LUMA_INL
#else
#define BALE_LUMA_INL
#endif

#include "bale/formats/image/color/color_vectors-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

HWY_INLINE V16 weighted(const LumaWeights& weights, V16 red, V16 green, V16 blue) {
  return hn::Add(hn::Add(times(weights.red, red), times(weights.green, green)), times(weights.blue, blue));
}

/// (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16, in 16 bits: the weights are split into their upper and
/// lower bytes, whose sums are 255 and 256, so that no sum is above 65,535.
HWY_INLINE V16 luma(V16 red, V16 green, V16 blue) {
  const V16 upper = weighted(k_luma_upper, red, green, blue);
  const V16 lower = weighted(k_luma_lower, red, green, blue);
  return hn::ShiftRight<8>(hn::Add(upper, hn::Add(hn::ShiftRight<8>(lower), words(0x80))));
}

#if BALE_AVX3_DL

/// The same of four pixels of four bytes in 32-bit lanes: red, green, blue and green again, since half of its weight
/// fits into a signed byte.
HWY_INLINE __m512i luma_of_quads(__m512i quads) {
  const auto weights = [](int red, int green, int blue) {
    return _mm512_set1_epi32((red & 255) | green << 8 | blue << 16 | green << 24);
  };
  const __m512i upper = _mm512_dpbusd_epi32(_mm512_set1_epi32(0x80), quads, weights(77, 75, 29));
  return _mm512_srli_epi32(_mm512_dpbusd_epi32(_mm512_slli_epi32(upper, 8), quads, weights(-117, 35, 47)), 16);
}

HWY_INLINE V8 luma(const Pixels& pixels) {
  const auto words_of = [](__m512i red_green, __m512i blue_green) {
    return _mm512_packus_epi32(luma_of_quads(_mm512_unpacklo_epi16(red_green, blue_green)),
                               luma_of_quads(_mm512_unpackhi_epi16(red_green, blue_green)));
  };
  const __m512i red = pixels.red.raw;
  const __m512i green = pixels.green.raw;
  const __m512i blue = pixels.blue.raw;
  return V8{_mm512_packus_epi16(words_of(_mm512_unpacklo_epi8(red, green), _mm512_unpacklo_epi8(blue, green)),
                                words_of(_mm512_unpackhi_epi8(red, green), _mm512_unpackhi_epi8(blue, green)))};
}

#else

HWY_INLINE V8 luma(const Pixels& pixels) {
  const Words red = split(pixels.red);
  const Words green = split(pixels.green);
  const Words blue = split(pixels.blue);
  return join({luma(red.even, green.even, blue.even), luma(red.odd, green.odd, blue.odd)});
}

#endif

HWY_INLINE Pixels changed(const GrayChange&, const Pixels& pixels) {
  const V8 gray = luma(pixels);
  return {gray, gray, gray};
}

/// The sum of the gray levels of the first pixels of a block. The others become black.
std::uint64_t sum_luma(Planes& planes, std::size_t count) {
  for (std::uint8_t* plane : {planes.red, planes.green, planes.blue}) std::fill(plane + count, plane + k_block, 0);
  const hn::Repartition<std::uint64_t, D8> d;
  auto sums = hn::Zero(d);
  for (std::size_t i = 0; i < k_block; i += hn::Lanes(D8())) {
    sums = hn::Add(sums, hn::SumsOf8(luma(load(planes, i))));
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
