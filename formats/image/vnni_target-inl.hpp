// Whether the target of Highway that is compiled has AVX512_VNNI and VBMI (BALE_VNNI), and the beginning of namespaces
// that use them. Included once per target, after hwy/highway.h; HWY_WANT_AVX3_DL must be defined before that.

// AVX3_DL and every better target has AVX512_VNNI and VBMI; a better target has a lower number. Later versions of
// Highway have several of them, and one with 32-byte vectors may be added.
#undef BALE_VNNI
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL && HWY_MAX_BYTES == 64
#define BALE_VNNI 1
#else
#define BALE_VNNI 0
#endif

// Highway 1.0.3 chooses AVX3_DL only if the CPU has AVX512_VNNI, but does not enable it in the compiler.
#undef BALE_BEFORE_NAMESPACE
#if BALE_VNNI
#define BALE_BEFORE_NAMESPACE() \
  HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni") static_assert(true, "a semicolon may follow")
#else
#define BALE_BEFORE_NAMESPACE() HWY_BEFORE_NAMESPACE()
#endif
