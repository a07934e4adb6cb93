// Memory aligned for SIMD, reused from image to image; internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/reused_memory.hpp"

namespace bale::image_detail {

/// Never initialized. It shrinks again after a huge image.
class AlignedMemory {
 public:
  static constexpr std::size_t k_alignment = 64;

  /// At least `size` bytes, which replace those of the last call.
  std::uint8_t* get(std::size_t size) {
    std::uint8_t* const memory = memory_.get(size + k_alignment);
    const auto misaligned = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(memory) % k_alignment);
    return memory + (k_alignment - misaligned) % k_alignment;
  }

 private:
  ReusedMemory memory_{std::size_t{8} << 20};
};

}  // namespace bale::image_detail
