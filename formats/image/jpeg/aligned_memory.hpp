// Memory aligned for SIMD, reused from image to image; internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bale::image_detail {

/// Never initialized. It shrinks again after one huge image.
class AlignedMemory {
 public:
  static constexpr std::size_t k_alignment = 64;

  /// At least `size` bytes, which replace those of the last call.
  std::uint8_t* get(std::size_t size) {
    const std::size_t needed = size + k_alignment;
    if (needed > capacity_ || (capacity_ > k_keep_bytes && needed < capacity_ / 4)) {
      memory_.reset();  // before the new memory is allocated, so that both never exist at once
      capacity_ = 0;
      memory_.reset(new std::uint8_t[needed]);
      capacity_ = needed;
    }
    const auto misaligned = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(memory_.get()) % k_alignment);
    return memory_.get() + (k_alignment - misaligned) % k_alignment;
  }

 private:
  static constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace bale::image_detail
