// Which instruction sets the image kernels of this process use, to measure and test the slower ones; internal.
//
// Kernels are compiled for several of Highway's targets. The best that the CPU has is used, unless it is excluded here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// The targets that both this build and this CPU have, best first, by Highway's names: "AVX3_DL", "AVX2", "NEON".
std::vector<std::string> simd_targets();

/// The best target that this process uses.
std::string simd_target();

/// Excludes all targets better than `name`, whose case does not matter. An empty name allows all again. Instructions
/// that bale uses without Highway are excluded too if no CPU of that target needs to have them. A target with vectors
/// of 64 bytes that is named is used by all kernels that have it, also on CPUs that are faster with 32. Throws
/// `invalid_argument` if it is none of simd_targets(). Not to be called while another thread runs a kernel.
void limit_simd(std::string_view name);

/// limit_simd() of the environment variable BALE_SIMD, which workers inherit. Does nothing if it is not set.
void limit_simd_by_environment();

}  // namespace bale
