// Two vectors narrowed to one, with saturation. Each 16 bytes of the result are those of `low`, then those of `high`.
// Included once per target.
#if defined(BALE_PACK_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_PACK_BLOCKS_INL
#undef BALE_PACK_BLOCKS_INL
#else
#define BALE_PACK_BLOCKS_INL
#endif

// The bytes of a vector: 32 instead of 64 if the file that includes this wants it of a target.
#undef BALE_VECTOR_BYTES
#if defined(BALE_NARROW_TARGET) && HWY_TARGET == BALE_NARROW_TARGET
#define BALE_VECTOR_BYTES 32
#else
#define BALE_VECTOR_BYTES HWY_MAX_BYTES
#endif

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::CappedTag<std::uint8_t, BALE_VECTOR_BYTES / sizeof(std::uint8_t)>;
using D16 = hn::CappedTag<std::int16_t, BALE_VECTOR_BYTES / sizeof(std::int16_t)>;
using D32 = hn::CappedTag<std::int32_t, BALE_VECTOR_BYTES / sizeof(std::int32_t)>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

HWY_INLINE V16 pack_blocks(V32 low, V32 high) {
#if HWY_ARCH_X86
  return hn::ReorderDemote2To(D16(), low, high);
#else
  const hn::Half<D16> half;
  return hn::Combine(D16(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

/// Highway 1.0.3 has no such operation for bytes.
HWY_INLINE V8 pack_blocks(V16 low, V16 high) {
#if HWY_ARCH_X86 && BALE_VECTOR_BYTES == 64
  return V8{_mm512_packus_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86 && BALE_VECTOR_BYTES == 32
  return V8{_mm256_packus_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86
  return V8{_mm_packus_epi16(low.raw, high.raw)};
#else
  const hn::Half<D8> half;
  return hn::Combine(D8(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
