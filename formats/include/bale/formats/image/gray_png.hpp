// Encodes gray images as PNGs.
//
// A pure function, safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// An 8-bit gray PNG of height x width pixels, row by row. Throws `invalid_argument` for an empty image or another
/// number of pixels, `unsupported` if libpng cannot encode it.
std::vector<std::byte> encode_gray_png(std::uint32_t width, std::uint32_t height, Bytes pixels);

}  // namespace bale
