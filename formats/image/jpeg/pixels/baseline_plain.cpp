#include <algorithm>
#include <cstdlib>

#include "bale/formats/image/jpeg/pixels/baseline_constants.hpp"
#include "bale/formats/image/jpeg/pixels/baseline_kernels.hpp"

namespace bale::image_detail {
namespace {

std::uint8_t clamp_to_byte(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

/// Transforms eight values, `step` apart, in place. False if a result is out of range.
bool transform(std::int32_t* values, std::size_t step, int shift, std::int32_t limit) {
  const auto in = [&](std::size_t i) { return values[i * step]; };
  const std::int32_t sum = (in(0) + in(4)) * (1 << k_dct_bits);
  const std::int32_t difference = (in(0) - in(4)) * (1 << k_dct_bits);
  const std::int32_t outer = in(2) * (k_0_541 + k_0_765) + in(6) * k_0_541;
  const std::int32_t inner = in(2) * k_0_541 + in(6) * (k_0_541 - k_1_847);
  const std::int32_t even[4] = {sum + outer, difference + inner, difference - inner, sum - outer};
  std::int32_t odd[4];
  for (std::size_t i = 0; i < 4; ++i) {
    odd[i] = in(1) * k_odd[i][0] + in(3) * k_odd[i][1] + in(5) * k_odd[i][2] + in(7) * k_odd[i][3];
  }
  const std::int32_t half = 1 << (shift - 1);
  bool good = true;
  for (std::size_t i = 0; i < 4; ++i) {
    values[i * step] = (even[i] + odd[i] + half) >> shift;
    values[(7 - i) * step] = (even[i] - odd[i] + half) >> shift;
    good = good && std::abs(values[i * step]) <= limit && std::abs(values[(7 - i) * step]) <= limit;
  }
  return good;
}

bool inverse_dct(std::int16_t* groups, std::size_t num_groups, const Quantizers& quantizers, const SamplesOut& out) {
  bool good = true;
  for (std::size_t block = 0; block < num_groups; ++block) {
    std::int16_t* const coefficients = groups + block * k_block_size;
    std::int32_t values[k_block_size];
    for (std::size_t i = 0; i < k_block_size; ++i) {
      const std::size_t place = place_in_pairs(static_cast<std::uint32_t>(i));
      good = good && std::abs(coefficients[place]) <= quantizers.limits[place];
      values[i] = coefficients[place] * quantizers.factors[place];
      coefficients[place] = 0;
    }
    if (!good) return false;
    for (std::size_t i = 0; i < 8; ++i) good = transform(values + i, 8, k_first_shift, k_max_value) && good;
    if (!good) return false;
    for (std::size_t i = 0; i < 8; ++i) good = transform(values + i * 8, 1, k_second_shift, k_max_sample) && good;
    for (std::size_t i = 0; i < k_block_size; ++i) {
      out.samples[i / 8 * out.stride + block * 8 + i % 8] = clamp_to_byte(values[i] + 128);
    }
  }
  return good;
}

void upsample_across(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i, ++in) {
    out[2 * i] = static_cast<std::uint8_t>((3 * in[0] + in[-1] + 1) >> 2);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * in[0] + in[1] + 2) >> 2);
  }
}

void upsample_both(const ChromaRows& in, std::size_t count, bool /*lower*/, std::uint8_t* out) {
  const auto column = [&in](std::ptrdiff_t i) { return 3 * in.near[i] + in.far[i]; };
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    out[2 * i] = static_cast<std::uint8_t>((3 * column(at) + column(at - 1) + 8) >> 4);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * column(at) + column(at + 1) + 7) >> 4);
  }
}

void upsample_down(const ChromaRows& in, std::size_t count, bool lower, std::uint8_t* out) {
  const int bias = lower ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>((3 * in.near[i] + in.far[i] + bias) >> 2);
  }
}

void to_rgb(const std::uint8_t* luma, const std::array<const std::uint8_t*, 2>& chroma, std::size_t count,
            std::uint8_t* rgb) {
  constexpr std::int32_t k_half = 1 << 15;
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    const std::int32_t cb = chroma[0][i] - 128;
    const std::int32_t cr = chroma[1][i] - 128;
    rgb[0] = clamp_to_byte(luma[i] + ((k_red_of_cr * cr + k_half) >> 16));
    rgb[1] = clamp_to_byte(luma[i] + ((k_green_of_cb * cb + k_green_of_cr * cr + k_half) >> 16));
    rgb[2] = clamp_to_byte(luma[i] + ((k_blue_of_cb * cb + k_half) >> 16));
  }
}

void gray_to_rgb(const std::uint8_t* luma, std::size_t count, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) rgb[0] = rgb[1] = rgb[2] = luma[i];
}

}  // namespace

bool Quantizers::set(const std::uint16_t* values) {
  for (std::size_t i = 0; i < k_block_size; ++i) {
    if (values[i] == 0 || values[i] > k_max_value) return false;
    const std::size_t place = place_in_pairs(static_cast<std::uint32_t>(i));
    factors[place] = static_cast<std::int16_t>(values[i]);
    limits[place] = static_cast<std::int16_t>(k_max_value / values[i]);
  }
  return true;
}

const BaselineKernels& baseline_kernels_plain() {
  static constexpr BaselineKernels k_kernels = {.group_shift = 0,
                                                .inverse_dct = inverse_dct,
                                                .upsample_across = upsample_across,
                                                .upsample_both = upsample_both,
                                                .upsample_down = upsample_down,
                                                .to_rgb = to_rgb,
                                                .gray_to_rgb = gray_to_rgb};
  return k_kernels;
}

}  // namespace bale::image_detail
