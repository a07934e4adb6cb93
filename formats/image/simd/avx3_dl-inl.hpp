// Whether the target of Highway that is compiled is AVX3_DL, or a better one with vectors of 64 bytes (BALE_AVX3_DL),
// and the beginning of namespaces that use AVX512_VNNI. Included once per target, after hwy/highway.h;
// kernel_targets.hpp before that.

// All these targets have AVX512_VNNI, VBMI and VBMI2; a better target has a lower number. Later versions of Highway
// have several of them, and one with 32-byte vectors may be added.
#undef BALE_AVX3_DL
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL && HWY_MAX_BYTES == 64
#define BALE_AVX3_DL 1
#else
#define BALE_AVX3_DL 0
#endif

// Highway 1.0.3 chooses AVX3_DL only if the CPU has AVX512_VNNI, but does not enable it in the compiler.
#undef BALE_BEFORE_NAMESPACE
#if BALE_AVX3_DL
#define BALE_BEFORE_NAMESPACE() \
  HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni") static_assert(true, "a semicolon may follow")
#else
#define BALE_BEFORE_NAMESPACE() HWY_BEFORE_NAMESPACE()
#endif
