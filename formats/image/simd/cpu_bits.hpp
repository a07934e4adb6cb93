// What CPUs have beyond what Highway asks: functions compiled a second time for CPUs with BMI2, whose variable shifts
// and selections of bits are cheap, and how wide their execution units are; internal.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#define BALE_WITH_BMI2 [[gnu::target("bmi,bmi2,popcnt")]]
#else
#define BALE_WITH_BMI2
#endif

namespace bale::image_detail {

/// Not __builtin_cpu_supports(): Clang wants its table in the same library, and not every compiler's runtime has it
/// there.
inline bool detect_bmi2() {
#if defined(__x86_64__)
  constexpr unsigned k_popcnt = 1u << 23;
  constexpr unsigned k_bmi = 1u << 3;
  constexpr unsigned k_bmi2 = 1u << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & k_popcnt) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (ebx & k_bmi) != 0 && (ebx & k_bmi2) != 0;
#else
  return false;
#endif
}

/// The family of AMD's CPUs, and of Hygon's, which are Zen 1; 0 of all others.
inline unsigned detect_amd_family() {
#if defined(__x86_64__)
  constexpr unsigned k_hygon_ebx = 0x6f677948;  // "Hygo"
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return 0;
  const bool is_amd = ebx == signature_AMD_ebx && ecx == signature_AMD_ecx && edx == signature_AMD_edx;
  if ((!is_amd && ebx != k_hygon_ebx) || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return 0;
  const unsigned family = eax >> 8 & 0xF;
  return family == 0xF ? family + (eax >> 20 & 0xFF) : family;
#else
  return 0;
#endif
}

// Asked at load: virtual machines take microseconds for each question.
inline const bool k_cpu_has_bmi2 = detect_bmi2();
inline const unsigned k_amd_family = detect_amd_family();
inline std::atomic<bool> g_wide_units_assumed{false};
inline std::atomic<bool> g_slow_deposits_assumed{false};
inline std::atomic<bool> g_bmi2_allowed{true};

/// For limit_simd().
inline void set_bmi2_allowed(bool allowed) { g_bmi2_allowed = allowed; }

inline bool use_bmi2() { return k_cpu_has_bmi2 && g_bmi2_allowed.load(std::memory_order_relaxed); }

/// For limit_simd().
inline void assume_wide_units(bool assumed) { g_wide_units_assumed = assumed; }

/// Whether vectors of 64 bytes are executed at once, without a lower clock: AMD's Zen 5 (family 1Ah) and later. Zen 4
/// executes them in halves, and on a Xeon they take a tenth more time (PIXELS.md).
inline bool use_wide_units() { return k_amd_family >= 0x1A || g_wide_units_assumed.load(std::memory_order_relaxed); }

/// For tests.
inline void assume_slow_deposits(bool assumed) { g_slow_deposits_assumed = assumed; }

/// Whether a CPU with BMI2 executes its selections of bits as long programs: AMD's before Zen 3 (family 19h).
inline bool has_slow_deposits() {
  return (k_amd_family != 0 && k_amd_family < 0x19) || g_slow_deposits_assumed.load(std::memory_order_relaxed);
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

/// The bits of `bits` at `places`, moved together: the inverse of deposit_bits().
template <bool k_bmi2>
[[gnu::always_inline]] inline std::uint64_t extract_bits(std::uint64_t bits, std::uint64_t places) {
  std::uint64_t result = 0;
#if defined(__x86_64__)
  if constexpr (k_bmi2) {
    asm("pext %[places], %[bits], %[result]" : [result] "=r"(result) : [bits] "r"(bits), [places] "r"(places));
    return result;
  }
#endif
  for (std::uint32_t at = 0; places != 0; places &= places - 1, ++at) {
    if ((bits & places & (~places + 1)) != 0) result |= std::uint64_t{1} << at;
  }
  return result;
}

}  // namespace bale::image_detail
