// Functions compiled a second time for CPUs with BMI2, whose variable shifts and selections of bits are cheap;
// internal.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#define BALE_WITH_BMI2 [[gnu::target("bmi,bmi2,popcnt")]]
#else
#define BALE_WITH_BMI2
#endif

namespace bale::image_detail {

inline bool cpu_has_bmi2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
#else
  return false;
#endif
}

/// The low bits of `bits`, put where the bits of `places` are set, the lowest first; zeros elsewhere.
template <bool k_bmi2>
[[gnu::always_inline]] inline std::uint64_t deposit_bits(std::uint64_t bits, std::uint64_t places) {
  std::uint64_t result = 0;
#if defined(__x86_64__)
  if constexpr (k_bmi2) {
    // In assembly, because the intrinsic is not allowed in a function for all CPUs.
    asm("pdep %[places], %[bits], %[result]" : [result] "=r"(result) : [bits] "r"(bits), [places] "r"(places));
    return result;
  }
#endif
  for (; places != 0; places &= places - 1, bits >>= 1) {
    if ((bits & 1) != 0) result |= places & (~places + 1);
  }
  return result;
}

}  // namespace bale::image_detail
