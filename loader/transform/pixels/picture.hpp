// Picture: an 8-bit image that steps change in place. It owns its memory, which is reused for the next image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bale::transform_detail {

struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 3;          // 3: RGB; 1: a mask
  std::vector<std::uint8_t> pixels{};  // height x width x channels, without gaps; may be longer than that

  std::size_t stride() const { return std::size_t{width} * channels; }
  std::size_t size() const { return stride() * height; }
};

}  // namespace bale::transform_detail
