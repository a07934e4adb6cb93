// Factors for vectors of 16-bit lanes. Internal.
//
// They are defined in color_change.cpp, which uses none, so that compilers do not know them. Of a multiplication by a
// constant, GCC makes several shifts and additions, which take longer.
#pragma once

#include <array>
#include <cstdint>

namespace bale::image_detail {

/// One vector, all lanes the same.
struct alignas(64) Multiplier : std::array<std::uint16_t, 32> {};

/// Upper and lower bytes of the weights of luma.
struct LumaWeights {
  Multiplier red;
  Multiplier green;
  Multiplier blue;
};
extern const LumaWeights k_luma_upper;
extern const LumaWeights k_luma_lower;

extern const Multiplier k_85;

}  // namespace bale::image_detail
