// From coefficients to pixels in the arithmetic that libjpeg documents: its accurate integer inverse DCT (jidctint.c),
// triangle filter for chroma (jdsample.c) and conversion to RGB in 16-bit fixed point (jdcolor.c). In SIMD chosen at
// run time, and in plain C++ as the reference that every other version must equal. Internal.
//
// Rows may be read and written up to k_row_padding_bytes past their end. No shared state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::image_detail {

constexpr std::size_t k_row_padding_bytes = 64;

/// The quantization table of one component, in BlockOrder::pairs.
struct Quantizers {
  /// `values` in natural order. False if a value is outside the range that the arithmetic allows.
  bool set(const std::uint16_t* values);

  alignas(64) std::array<std::int16_t, k_block_size> factors{};
  /// The largest coefficients for which no sum exceeds 16 bits, in any decoder's arithmetic.
  alignas(64) std::array<std::int16_t, k_block_size> limits{};
};

/// Samples of adjacent blocks.
struct SamplesOut {
  std::uint8_t* samples = nullptr;
  std::size_t stride = 0;
};

/// Chroma rows for one row of pixels: the nearer one and the farther one.
struct ChromaRows {
  const std::uint8_t* near = nullptr;
  const std::uint8_t* far = nullptr;
};

struct BaselineKernels {
  /// 1 << group_shift blocks, a group, are transformed at once.
  std::uint32_t group_shift = 0;
  /// Turns groups of blocks, in BlockOrder::pairs, into samples, and sets the coefficients to zero. False if a value is
  /// so large that decoders may differ.
  bool (*inverse_dct)(std::int16_t* groups, std::size_t num_groups, const Quantizers& quantizers,
                      const SamplesOut& out) = nullptr;
  /// Doubles the samples across. Reads one sample before `in` and one after its `count`.
  void (*upsample_across)(const std::uint8_t* in, std::size_t count, std::uint8_t* out) = nullptr;
  /// The same from two rows; `lower` if the farther row is the one below.
  void (*upsample_both)(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) = nullptr;
  void (*upsample_down)(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) = nullptr;
  /// `chroma` is Cb and Cr.
  void (*to_rgb)(const std::uint8_t* luma, const std::array<const std::uint8_t*, 2>& chroma, std::size_t count,
                 std::uint8_t* rgb) = nullptr;
  void (*gray_to_rgb)(const std::uint8_t* luma, std::size_t count, std::uint8_t* rgb) = nullptr;
};

/// The kernels for this CPU, or for the target that limit_simd() allows, next to Huffman decoding: vectors of 64 bytes
/// are used if the CPU has execution units that wide, or if limit_simd() names a target that has them. On others they
/// make Huffman decoding slower: multiplying them lowers a Xeon's clock by 6 %.
const BaselineKernels& baseline_kernels();
/// The same next to the decoding of planes, which uses such vectors too.
const BaselineKernels& widest_baseline_kernels();
const BaselineKernels& baseline_kernels_plain();

}  // namespace bale::image_detail
