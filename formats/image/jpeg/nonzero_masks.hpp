// Which coefficients of blocks are not zero; internal. In SIMD chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// Of `count` blocks of 64 coefficients, aligned to 64 bytes: bit i of a mask is set if coefficient i is not zero.
void nonzero_masks(const std::int16_t* blocks, std::size_t count, std::uint64_t* masks);

}  // namespace bale::image_detail
