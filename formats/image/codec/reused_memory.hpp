// Memory that is reused from image to image; internal.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bale::image_detail {

/// Never initialized. If more than `kept` bytes were used, it gives pages back to the kernel after a few images in a
/// row that need less than half of them, and keeps what the largest of these needs.
class ReusedMemory {
 public:
  explicit ReusedMemory(std::size_t kept) : kept_(kept) {}

  /// At least `size` bytes, which replace those of the last call.
  std::uint8_t* get(std::size_t size) {
    const bool is_outsized = used_ > kept_ && size < used_ / 2;
    num_outsized_ = is_outsized ? num_outsized_ + 1 : 0;
    largest_ = is_outsized ? std::max(largest_, size) : 0;
    if (size > capacity_) {
      renew(std::max(size, std::min(2 * capacity_, kept_)));
    } else if (num_outsized_ > k_patience) {
      give_back_pages(std::max(largest_, kept_));
    }
    used_ = std::max(used_, size);
    return memory_.get();
  }
  /// Frees the memory if it is larger than `limit`.
  void free_above(std::size_t limit) {
    if (capacity_ > limit) renew(0);
  }
  /// The memory that get() returned last.
  std::uint8_t* data() const { return memory_.get(); }

 private:
  static constexpr int k_patience = 8;  // images; crops of large images differ much in size

  void renew(std::size_t size) {
    if (used_ > kept_) give_back_pages(0);  // malloc keeps memory that lies in the middle of its heap
    memory_.reset();                        // before the new memory is allocated, so that both never exist at once
    capacity_ = 0;
    num_outsized_ = 0;
    largest_ = 0;
    used_ = 0;
    memory_.reset(new std::uint8_t[size]);
    capacity_ = size;
  }

  /// The kernel takes the pages after the first `size` bytes. Other memory costs nothing until it is used again.
  void give_back_pages(std::size_t size) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::uintptr_t first = (begin + size + page - 1) / page * page;
    const std::uintptr_t end = (begin + capacity_) / page * page;
    if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
    used_ = size;
    num_outsized_ = 0;
    largest_ = 0;
  }

  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t kept_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;     // that may have pages
  int num_outsized_ = 0;     // images in a row that need less than half of that
  std::size_t largest_ = 0;  // what these need
};

/// Memory aligned for SIMD. Never initialized. It shrinks again after a huge image.
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
