// The bodies of the kernels: convert 8-bit RGB pixels (height x width x 3) to 16-bit or 32-bit floats in either layout.
//
// Values are looked up in a table, as by the workers (loader/transform/pixels/convert.hpp), so that a batch has the
// same bits wherever it was converted. The 3 x 256 values fit into a multiprocessor's shared memory. Mixed images are
// share * a + rest * b of the looked-up floats. Each step is rounded as in PyTorch; the last one rounds to 16 bits.
//
// A thread converts `k_pixels` adjacent pixels of a row at a time: 4 if the width is a multiple of 4, so that it loads
// three words and stores whole vectors; else 1. Also compiled for the host, where tests run it.
#pragma once

#include <cstdint>

#include "bale/formats/base/codec/half.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"

#if defined(__CUDA__)
#define BALE_ON_DEVICE __attribute__((device))
#define BALE_UNROLLED _Pragma("unroll")
#else
#define BALE_ON_DEVICE
#define BALE_UNROLLED
#endif

namespace bale::cuda_detail {

template <typename Value>
struct alignas(4 * sizeof(Value)) FourValues {
  Value values[4];
};

/// Pixels of one row of the output with the values of the input: 0 .. 255 per channel.
template <int k_pixels>
struct RgbPixels {
  std::uint32_t values[k_pixels][3];
  bool present[k_pixels];  // false: outside the image
};

BALE_ON_DEVICE constexpr std::uint32_t byte_of(std::uint32_t word, int i) { return word >> 8 * i & 0xFF; }

/// Loads columns x .. x + k_pixels - 1 of row y of an image. x and the width are multiples of k_pixels.
template <int k_pixels>
BALE_ON_DEVICE inline RgbPixels<k_pixels> load_pixels(const ConvertArgs& args, std::uint32_t image, std::uint32_t x,
                                                      std::uint32_t y) {
  const ConvertRow& row = args.rows[image];
  const bool mirrored = row.mirrored != 0;
  const std::uint32_t end = row.width;
  const bool present_row = y < row.height;
  const std::uint32_t from_x = mirrored ? args.width - k_pixels - x : x;
  const std::uint8_t* at = args.in + ((std::uint64_t{image} * args.height + y) * args.width + from_x) * 3;
  std::uint32_t loaded[k_pixels][3];
  if constexpr (k_pixels == 4) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(at);
    const std::uint32_t three[3] = {words[0], words[1], words[2]};
    BALE_UNROLLED
    for (int i = 0; i < 12; ++i) loaded[i / 3][i % 3] = byte_of(three[i / 4], i % 4);
  } else {
    BALE_UNROLLED
    for (int i = 0; i < 3 * k_pixels; ++i) loaded[i / 3][i % 3] = at[i];
  }
  RgbPixels<k_pixels> pixels;
  BALE_UNROLLED
  for (int i = 0; i < k_pixels; ++i) {
    const int other_end = k_pixels - 1 - i;
    pixels.present[i] = present_row & (from_x + (mirrored ? other_end : i) < end);
    BALE_UNROLLED
    for (int c = 0; c < 3; ++c) pixels.values[i][c] = mirrored ? loaded[other_end][c] : loaded[i][c];
  }
  return pixels;
}

/// The converted value of a channel of a pixel; zero outside the image. Always looked up, so threads do not diverge.
template <int k_pixels, typename Value>
BALE_ON_DEVICE inline Value value_of(const RgbPixels<k_pixels>& pixels, const Value* table, int i, int c) {
  const Value value = table[c * 256 + pixels.values[i][c]];
  return pixels.present[i] ? value : Value{0};
}

/// Stores columns x .. x + k_pixels - 1 of row y of an image.
template <int k_pixels, bool k_planar, typename Value>
BALE_ON_DEVICE inline void store_pixels(const ConvertArgs& args, std::uint32_t image, std::uint32_t x, std::uint32_t y,
                                        const Value (&values)[k_pixels][3]) {
  auto* out = static_cast<Value*>(args.out);
  const std::uint64_t plane = std::uint64_t{args.height} * args.width;
  const std::uint64_t pixel = std::uint64_t{y} * args.width + x;
  if constexpr (k_planar) {
    BALE_UNROLLED
    for (int c = 0; c < 3; ++c) {
      Value* const at = out + (std::uint64_t{image} * 3 + c) * plane + pixel;
      if constexpr (k_pixels == 4) {
        *reinterpret_cast<FourValues<Value>*>(at) = {values[0][c], values[1][c], values[2][c], values[3][c]};
      } else {
        BALE_UNROLLED
        for (int i = 0; i < k_pixels; ++i) at[i] = values[i][c];
      }
    }
  } else {
    Value* const at = out + (image * plane + pixel) * 3;
    if constexpr (k_pixels == 4) {
      auto* const fours = reinterpret_cast<FourValues<Value>*>(at);
      fours[0] = {values[0][0], values[0][1], values[0][2], values[1][0]};
      fours[1] = {values[1][1], values[1][2], values[2][0], values[2][1]};
      fours[2] = {values[2][2], values[3][0], values[3][1], values[3][2]};
    } else {
      BALE_UNROLLED
      for (int i = 0; i < k_pixels * 3; ++i) at[i] = values[i / 3][i % 3];
    }
  }
}

/// Converts images without mixing them.
template <int k_pixels, bool k_planar, typename Value>
BALE_ON_DEVICE inline void convert_pixels(const ConvertArgs& args, const Value* table, std::uint32_t image,
                                          std::uint32_t x, std::uint32_t y) {
  const RgbPixels<k_pixels> pixels = load_pixels<k_pixels>(args, image, x, y);
  Value values[k_pixels][3];
  BALE_UNROLLED
  for (int i = 0; i < k_pixels; ++i) {
    BALE_UNROLLED
    for (int c = 0; c < 3; ++c) values[i][c] = value_of(pixels, table, i, c);
  }
  store_pixels<k_pixels, k_planar>(args, image, x, y, values);
}

enum class MixedType { float16, bfloat16, float32 };

template <MixedType k_type>
BALE_ON_DEVICE inline auto rounded(float value) {
  if constexpr (k_type == MixedType::float16) return to_float16(value);
  if constexpr (k_type == MixedType::bfloat16) return to_bfloat16(value);
  if constexpr (k_type == MixedType::float32) return value;
}

/// Mixes each image with its partner. The pixels in the box come from the partner alone.
template <int k_pixels, bool k_planar, MixedType k_type>
BALE_ON_DEVICE inline void mix_pixels(const ConvertArgs& args, const float* table, std::uint32_t image, std::uint32_t x,
                                      std::uint32_t y) {
  using Value = decltype(rounded<k_type>(0.0F));
  const ConvertRow& row = args.rows[image];
  const RgbPixels<k_pixels> own = load_pixels<k_pixels>(args, image, x, y);
  const bool mixes = row.rest != 0.0F;
  const bool boxed_row = y >= row.box_top && y < row.box_bottom;
  const bool needs_partner = mixes || (boxed_row && x + k_pixels > row.box_left && x < row.box_right);
  const RgbPixels<k_pixels> other = needs_partner ? load_pixels<k_pixels>(args, row.partner, x, y) : own;
  Value values[k_pixels][3];
  BALE_UNROLLED
  for (int i = 0; i < k_pixels; ++i) {
    const bool boxed = boxed_row && x + i >= row.box_left && x + i < row.box_right;
    BALE_UNROLLED
    for (int c = 0; c < 3; ++c) {
      const float a = value_of(own, table, i, c);
      const float b = value_of(other, table, i, c);
      values[i][c] = rounded<k_type>(boxed ? b : mixes ? row.share * a + row.rest * b : a);
    }
  }
  store_pixels<k_pixels, k_planar>(args, image, x, y, values);
}

/// A thread's share of a batch: in each of its images, every `step`-th group of pixels from `first` on.
template <int k_pixels, typename Pixels>
BALE_ON_DEVICE inline void for_each_group(const ConvertArgs& args, std::uint32_t first, std::uint32_t step,
                                          std::uint32_t first_image, std::uint32_t image_step, const Pixels& pixels) {
  const std::uint32_t groups_a_row = args.width / k_pixels;
  const std::uint32_t num_groups = groups_a_row * args.height;
  for (std::uint32_t image = first_image; image < args.num_images; image += image_step) {
    for (std::uint32_t group = first; group < num_groups; group += step) {
      const std::uint32_t y = group / groups_a_row;
      pixels(image, (group - y * groups_a_row) * k_pixels, y);
    }
  }
}

}  // namespace bale::cuda_detail
