#include "bale/formats/image/jpeg/entropy/baseline_segment.hpp"

#include <bit>

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/entropy/byte_stuffing.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if BALE_AVX3_DL  // VBMI2 moves the bytes of a mask together

/// Without branches that depend on where the stuffing is.
HWY_ATTR UnstuffedTo remove_stuffing_here(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  std::uint64_t follows = 0;  // whether the byte before was 0xFF
  while (end - from > 64) {
    const __m512i bytes = _mm512_loadu_si512(from);
    const std::uint64_t is_ff = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-1));
    const std::uint64_t after_ff = is_ff << 1 | follows;
    const std::uint64_t stuffing = _mm512_mask_testn_epi8_mask(after_ff, bytes, bytes);
    if (after_ff != stuffing) [[unlikely]] {
      // Up to the marker's 0xFF, which is the byte before the first one that is not stuffing.
      const int marker = std::countr_zero(after_ff & ~stuffing);
      if (marker == 0) return {from - 1, to - 1};
      const std::uint64_t kept = ~stuffing & ((std::uint64_t{1} << (marker - 1)) - 1);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept, bytes));
      return {from + marker - 1, to + std::popcount(kept)};
    }
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(~stuffing, bytes));
    from += 64;
    to += 64 - std::popcount(stuffing);
    follows = is_ff >> 63;
  }
  // The last byte's 0xFF is looked at with what follows it.
  return follows != 0 ? UnstuffedTo{from - 1, to - 1} : UnstuffedTo{from, to};
}

#else

HWY_ATTR UnstuffedTo remove_stuffing_here(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  const hn::ScalableTag<std::uint8_t> d;
  static_assert(hn::MaxLanes(d) <= k_unstuffing_padding);
  const std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const auto stuffed = hn::Set(d, 0xFF);
  while (end - from > lanes) {
    const auto bytes = hn::LoadU(d, from);
    hn::StoreU(bytes, d, to);
    const std::ptrdiff_t found = hn::FindFirstTrue(d, hn::Eq(bytes, stuffed));
    if (found < 0) {
      from += lanes;
      to += lanes;
    } else if (from[found + 1] == 0) {
      from += found + 2;
      to += found + 1;
    } else {
      return {from + found, to + found};
    }
  }
  return {from, to};
}

#endif

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(remove_stuffing_here);

UnstuffedTo remove_stuffing(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(remove_stuffing_here)(from, end, to);
}

}  // namespace bale::image_detail
#endif
