// How warps and borders take pixels: Pillow's Image.transform and torchvision's pad.
//
// Threads: plain values.
#pragma once

#include <cstdint>

namespace bale {

/// How a warp takes a pixel from its source: Pillow's Image.transform.
enum class Sampling : std::uint8_t { nearest, bilinear, bicubic };

enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric };

}  // namespace bale
