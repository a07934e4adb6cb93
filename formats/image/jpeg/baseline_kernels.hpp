// From coefficients to pixels in the arithmetic that libjpeg documents: its accurate integer inverse DCT (jidctint.c),
// triangle filter for chroma (jdsample.c) and conversion to RGB in 16-bit fixed point (jdcolor.c). In SIMD chosen at
// run time, and in plain C++ as the reference that every other must equal. Internal.
//
// Rows may be read and written up to k_row_padding_bytes past their end. Free of shared state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

constexpr std::size_t k_row_padding_bytes = 64;
constexpr std::size_t k_block_size = 64;

/// Of one component, in natural order.
struct Quantisers {
  /// False where a value is out of the range that the arithmetic allows.
  bool set(const std::uint16_t* values);

  alignas(64) std::array<std::int16_t, k_block_size> factors{};
  /// The largest magnitudes of coefficients with which no sum leaves 16 bits, whatever the decoder's arithmetic.
  alignas(64) std::array<std::int16_t, k_block_size> limits{};
};

/// Samples of blocks side by side.
struct SamplesOut {
  std::uint8_t* samples = nullptr;
  std::size_t stride = 0;
};

/// Chroma rows for a row of pixels: the nearer one and the farther one.
struct ChromaRows {
  const std::uint8_t* near = nullptr;
  const std::uint8_t* far = nullptr;
};

struct BaselineKernels {
  /// Blocks to a group are 1 << group_shift.
  std::uint32_t group_shift = 0;
  /// Turns groups of coefficients into samples and the coefficients into zeros. False where a value is so large that
  /// decoders may differ.
  bool (*inverse_dct)(std::int16_t* groups, std::size_t num_groups, const Quantisers& quantizers,
                      const SamplesOut& out) = nullptr;
  /// Twice as many samples across; reads one sample before `in` and after its `count`.
  void (*upsample_across)(const std::uint8_t* in, std::size_t count, std::uint8_t* out) = nullptr;
  /// The same out of two rows; `lower` where the farther row is the one below.
  void (*upsample_both)(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) = nullptr;
  void (*upsample_down)(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) = nullptr;
  /// `chroma` is Cb and Cr.
  void (*to_rgb)(const std::uint8_t* luma, const std::array<const std::uint8_t*, 2>& chroma, std::size_t count,
                 std::uint8_t* rgb) = nullptr;
  void (*gray_to_rgb)(const std::uint8_t* luma, std::size_t count, std::uint8_t* rgb) = nullptr;
};

/// What suits this CPU, or use_resample_target()'s choice.
const BaselineKernels& baseline_kernels();
const BaselineKernels& baseline_kernels_plain();

}  // namespace bale::image_detail
