// The targets of Highway that kernels are compiled for, to be included before its headers. A test's choice of a target
// applies to all kernels with the same ones (simd_target.hpp).
//
// Disabled are SSSE3, since almost every CPU that has it also has SSE4; and scalable vectors, since the shuffles of
// many kernels work on blocks of 16 bytes.
#pragma once

#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
