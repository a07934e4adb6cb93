// The names of element types, as NumPy and torch write them.
#pragma once

#include <array>
#include <string_view>

#include "bale/loader/transform/transform.hpp"

namespace bale {

/// Those that can be chosen: uint16 goes with a mode.
inline constexpr std::array k_dtypes{DType::uint8, DType::float16, DType::bfloat16, DType::float32};

constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return "uint8";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float32:
      return "float32";
    case DType::uint16:
      return "uint16";
  }
  return {};
}

}  // namespace bale
