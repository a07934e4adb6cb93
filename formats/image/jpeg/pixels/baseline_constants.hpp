// Constants of libjpeg's fixed-point arithmetic; internal.
#pragma once

#include <cstdint>

namespace bale::image_detail {

// jidctint.c: factors of 13 fractional bits, 2 more bits between the passes, and 3 for the scale of an 8x8 DCT.
constexpr int k_dct_bits = 13;
constexpr int k_between_bits = 2;
constexpr int k_first_shift = k_dct_bits - k_between_bits;
constexpr int k_second_shift = k_dct_bits + k_between_bits + 3;

constexpr std::int32_t fixed13(double value) { return static_cast<std::int32_t>(value * 8192 + 0.5); }

constexpr std::int32_t k_0_298 = fixed13(0.298631336);
constexpr std::int32_t k_0_390 = fixed13(0.390180644);
constexpr std::int32_t k_0_541 = fixed13(0.541196100);
constexpr std::int32_t k_0_765 = fixed13(0.765366865);
constexpr std::int32_t k_0_899 = fixed13(0.899976223);
constexpr std::int32_t k_1_175 = fixed13(1.175875602);
constexpr std::int32_t k_1_501 = fixed13(1.501321110);
constexpr std::int32_t k_1_847 = fixed13(1.847759065);
constexpr std::int32_t k_1_961 = fixed13(1.961570560);
constexpr std::int32_t k_2_053 = fixed13(2.053119869);
constexpr std::int32_t k_2_562 = fixed13(2.562915447);
constexpr std::int32_t k_3_072 = fixed13(3.072711026);

/// The odd half of the transform as a matrix: row i, times coefficients 1, 3, 5 and 7, is added to and subtracted from
/// the even half's sum i. The sums are of integers, so their order does not matter.
constexpr std::int32_t k_odd[4][4] = {
    {k_1_501 - k_0_899 - k_0_390 + k_1_175, k_1_175, k_1_175 - k_0_390, k_1_175 - k_0_899},
    {k_1_175, k_3_072 - k_2_562 - k_1_961 + k_1_175, k_1_175 - k_2_562, k_1_175 - k_1_961},
    {k_1_175 - k_0_390, k_1_175 - k_2_562, k_2_053 - k_2_562 - k_0_390 + k_1_175, k_1_175},
    {k_1_175 - k_0_899, k_1_175 - k_1_961, k_1_175, k_0_298 - k_0_899 - k_1_961 + k_1_175},
};

// libjpeg-turbo's SIMD adds two values in 16 bits, so half of the 16-bit range is safe.
constexpr std::int32_t k_max_value = 16383;
// T.81, A.3.1: the level shift, which is added to samples at last.
constexpr std::int32_t k_center = 128;
// Above this, the clamping table of libjpeg without SIMD wraps around.
constexpr std::int32_t k_max_sample = 511;

// jdcolor.c: factors of 16 fractional bits.
constexpr std::int32_t fixed16(double value) { return static_cast<std::int32_t>(value * 65536 + 0.5); }

constexpr std::int32_t k_red_of_cr = fixed16(1.40200);
constexpr std::int32_t k_blue_of_cb = fixed16(1.77200);
constexpr std::int32_t k_green_of_cr = -fixed16(0.71414);
constexpr std::int32_t k_green_of_cb = -fixed16(0.34414);

}  // namespace bale::image_detail
