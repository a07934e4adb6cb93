// Functions compiled a second time for CPUs with BMI2, whose variable shifts and selections of bits are cheap; internal.
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

/// The set bit of `bits` that has `rank` set bits below it, alone. 0 if there is none.
template <bool k_bmi2>
[[gnu::always_inline]] inline std::uint64_t select_bit(std::uint64_t bits, std::uint32_t rank) {
#if defined(__x86_64__)
  if constexpr (k_bmi2) {
    std::uint64_t result;
    asm("pdep %[bits], %[source], %[result]"
        : [result] "=r"(result)
        : [source] "r"(std::uint64_t{1} << rank), [bits] "r"(bits));
    return result;
  }
#endif
  for (; rank > 0; --rank) bits &= bits - 1;
  return bits & (~bits + 1);
}

}  // namespace bale::image_detail
