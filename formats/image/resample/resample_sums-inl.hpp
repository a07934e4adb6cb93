// Four taps at a time: sums of products on each instruction set. Included once per target by resample_kernels.cpp.
//
// A quad is four neighboring taps of one channel, one byte each, in one 32-bit lane. Its four 22-bit weights are split
// into parts that the CPU multiplies and adds natively:
// - VNNI: three signed bytes per weight, w = b0 + 2^8 b1 + 2^16 b2; one dot product of four bytes per part.
// - x86 with SSSE3, without VNNI: a signed half and a signed byte, w = h + 2^16 b; dot products of two halves, for the
//   even and for the odd taps, and of two bytes. A final sum is h's sum >> 16, plus b's sum, which both fit: see
//   high_parts_fit(). k_half has no bits below 2^16, so it is added when 16 bits are rounded.
// - otherwise: two signed halves, w = h0 + 2^16 h1, for the even and for the odd taps; one dot product of two
//   halves each.
#if defined(BALE_RESAMPLE_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_RESAMPLE_SUMS_INL
#undef BALE_RESAMPLE_SUMS_INL
#else
#define BALE_RESAMPLE_SUMS_INL
#endif

#include "bale/formats/image/simd/pack_blocks-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t k_vector_bytes = HWY_MAX_BYTES;
constexpr int k_parts = 4;

// Whether weights are a half and a byte.
#undef BALE_HALF_AND_BYTE
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3 && !BALE_AVX3_DL
#define BALE_HALF_AND_BYTE 1
#else
#define BALE_HALF_AND_BYTE 0
#endif

#if BALE_HALF_AND_BYTE

constexpr int k_total_shift = k_fraction_bits - 16;

/// Whether no sum of a position's high parts, times bytes, leaves 16 bits. Few taps cannot: each adds at most a half to
/// its share of 64, and no filter has more than three halves of that in absolute values.
HWY_INLINE bool high_parts_fit(const AxisFilter& filter) {
  constexpr std::uint32_t k_few = 64;
  constexpr std::int32_t k_most = 128;
  if (filter.taps_stride() <= k_few) return true;
  for (std::uint32_t i = 0; i < filter.size(); ++i) {
    std::int32_t sum = 0;
    for (std::uint32_t tap = 0; tap < filter.num_taps(i); ++tap) {
      const std::int32_t high = (filter.weights(i)[tap] + 0x8000) >> 16;
      sum += high < 0 ? -high : high;
    }
    if (sum > k_most) return false;
  }
  return true;
}

HWY_INLINE V32 dot_halves(V16 a, V16 b) {
#if HWY_MAX_BYTES == 64
  return V32{_mm512_madd_epi16(a.raw, b.raw)};
#elif HWY_MAX_BYTES == 32
  return V32{_mm256_madd_epi16(a.raw, b.raw)};
#else
  return V32{_mm_madd_epi16(a.raw, b.raw)};
#endif
}

/// Of unsigned bytes and signed ones.
HWY_INLINE V16 dot_bytes(V32 a, V32 b) {
#if HWY_MAX_BYTES == 64
  return V16{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_MAX_BYTES == 32
  return V16{_mm256_maddubs_epi16(a.raw, b.raw)};
#else
  return V16{_mm_maddubs_epi16(a.raw, b.raw)};
#endif
}

HWY_INLINE std::uint32_t high_byte(std::int32_t weight) {
  return static_cast<std::uint32_t>((weight + 0x8000) >> 16) & 0xFF;
}

HWY_INLINE void split_weights(const std::int32_t* weights, std::uint32_t* parts) {
  std::uint32_t low[4];
  parts[2] = 0;
  for (int tap = 0; tap < 4; ++tap) {
    low[tap] = static_cast<std::uint32_t>(weights[tap]) & 0xFFFF;
    parts[2] |= high_byte(weights[tap]) << (8 * tap);
  }
  parts[0] = low[0] | low[2] << 16;
  parts[1] = low[1] | low[3] << 16;
  parts[3] = 0;
}

class Sums {
 public:
  HWY_INLINE Sums() : low_(hn::Zero(D32())), high_(hn::Zero(D16())) {}

  HWY_INLINE void add(V32 quad, V32 part0, V32 part1, V32 part2, V32 /*part3*/) {
    const D16 d16;
    const V16 even = hn::BitCast(d16, hn::And(quad, hn::Set(D32(), 0x00FF00FF)));
    const V16 odd = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(hn::RebindToUnsigned<D16>(), quad)));
    low_ = hn::Add(low_, hn::Add(dot_halves(even, hn::BitCast(d16, part0)), dot_halves(odd, hn::BitCast(d16, part1))));
    high_ = hn::Add(high_, dot_bytes(quad, part2));
  }
  HWY_INLINE V32 total() const { return hn::Add(hn::ShiftRight<16>(low_), dot_halves(high_, hn::Set(D16(), 1))); }

 private:
  V32 low_;
  V16 high_;
};

#else

constexpr int k_total_shift = k_fraction_bits;
HWY_INLINE bool high_parts_fit(const AxisFilter& /*filter*/) { return true; }

#if BALE_AVX3_DL

HWY_INLINE void split_weights(const std::int32_t* weights, std::uint32_t* parts) {
  const __m128i half = _mm_set1_epi32(0x80);
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights));
  const __m128i middle_up = _mm_srai_epi32(_mm_add_epi32(all, half), 8);
  const __m128i high = _mm_srai_epi32(_mm_add_epi32(middle_up, half), 8);
  parts[0] = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_cvtepi32_epi8(all)));
  parts[1] = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_cvtepi32_epi8(middle_up)));
  parts[2] = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_cvtepi32_epi8(high)));
  parts[3] = 0;
}

class Sums {
 public:
  HWY_INLINE Sums() : low_(hn::Set(D32(), k_half)), middle_(hn::Zero(D32())), high_(hn::Zero(D32())) {}

  HWY_INLINE void add(V32 quad, V32 part0, V32 part1, V32 part2, V32 /*part3*/) {
    low_.raw = _mm512_dpbusd_epi32(low_.raw, quad.raw, part0.raw);
    middle_.raw = _mm512_dpbusd_epi32(middle_.raw, quad.raw, part1.raw);
    high_.raw = _mm512_dpbusd_epi32(high_.raw, quad.raw, part2.raw);
  }
  HWY_INLINE V32 total() const { return hn::Add(low_, hn::ShiftLeft<8>(hn::Add(middle_, hn::ShiftLeft<8>(high_)))); }

 private:
  V32 low_;
  V32 middle_;
  V32 high_;
};

#else

HWY_INLINE void split_weights(const std::int32_t* weights, std::uint32_t* parts) {
  std::uint32_t low[4];
  std::uint32_t high[4];
  for (int tap = 0; tap < 4; ++tap) {
    low[tap] = static_cast<std::uint32_t>(weights[tap]) & 0xFFFF;
    high[tap] = static_cast<std::uint32_t>((weights[tap] + 0x8000) >> 16) & 0xFFFF;
  }
  parts[0] = low[0] | low[2] << 16;
  parts[1] = low[1] | low[3] << 16;
  parts[2] = high[0] | high[2] << 16;
  parts[3] = high[1] | high[3] << 16;
}

class Sums {
 public:
  HWY_INLINE Sums()
      : low0_(hn::Zero(D32())), low1_(hn::Zero(D32())), high0_(hn::Zero(D32())), high1_(hn::Zero(D32())) {}

  HWY_INLINE void add(V32 quad, V32 part0, V32 part1, V32 part2, V32 part3) {
    const D16 d16;
    const D32 d32;
    const hn::RebindToUnsigned<D16> du16;
    const V16 even = hn::BitCast(d16, hn::And(quad, hn::Set(d32, 0x00FF00FF)));
    const V16 odd = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, quad)));
    low0_ = hn::ReorderWidenMulAccumulate(d32, even, hn::BitCast(d16, part0), low0_, low1_);
    low0_ = hn::ReorderWidenMulAccumulate(d32, odd, hn::BitCast(d16, part1), low0_, low1_);
    high0_ = hn::ReorderWidenMulAccumulate(d32, even, hn::BitCast(d16, part2), high0_, high1_);
    high0_ = hn::ReorderWidenMulAccumulate(d32, odd, hn::BitCast(d16, part3), high0_, high1_);
  }
  HWY_INLINE V32 total() const {
    const V32 low = hn::Add(hn::RearrangeToOddPlusEven(low0_, low1_), hn::Set(D32(), k_half));
    return hn::Add(low, hn::ShiftLeft<16>(hn::RearrangeToOddPlusEven(high0_, high1_)));
  }

 private:
  V32 low0_;
  V32 low1_;
  V32 high0_;
  V32 high1_;
};

#endif
#endif

/// The sum of one quad.
HWY_INLINE V32 total_of(V32 quad, V32 part0, V32 part1, V32 part2, V32 part3) {
#if BALE_AVX3_DL
  // Each part is added to what the part above it gives: fewer operations than in Sums.
  static_assert(k_half % (1 << 16) == 0);
  V32 sum{_mm512_dpbusd_epi32(hn::Set(D32(), k_half >> 16).raw, quad.raw, part2.raw)};
  sum.raw = _mm512_dpbusd_epi32(hn::ShiftLeft<8>(sum).raw, quad.raw, part1.raw);
  return V32{_mm512_dpbusd_epi32(hn::ShiftLeft<8>(sum).raw, quad.raw, part0.raw)};
#else
  Sums sums;
  sums.add(quad, part0, part1, part2, part3);
  return sums.total();
#endif
}

#if BALE_HALF_AND_BYTE
static_assert(k_half == 1 << (k_fraction_bits - 1) && k_half % (1 << 16) == 0);

/// Sums that have a shift by k_total_shift left, rounded: half of what it drops is added.
HWY_INLINE V16 round_words(V16 sums) { return hn::MulFixedPoint15(sums, hn::Set(D16(), 1 << (15 - k_total_shift))); }

/// What two totals are rounded to, before it is limited to bytes. Totals that do not fit in 16 bits are limited, too.
HWY_INLINE V16 round_totals(V32 t0, V32 t1) { return round_words(pack_blocks(t0, t1)); }
#else
HWY_INLINE V16 round_totals(V32 t0, V32 t1) {
  return pack_blocks(hn::ShiftRight<k_total_shift>(t0), hn::ShiftRight<k_total_shift>(t1));
}
#endif

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
