#include "bale/formats/base/aligned_buffer.hpp"

#include <sys/mman.h>

#include <new>

namespace bale {
namespace {

// A huge page is one segment of the transfer.
constexpr std::size_t k_huge_bytes = std::size_t{2} << 20;

}  // namespace

std::byte* AlignedBuffer::at_least(std::size_t size) {
  if (size > size_) {
    bytes_.reset();
    size_ = (size + k_huge_bytes - 1) / k_huge_bytes * k_huge_bytes;
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(k_huge_bytes, size_)));
    if (!bytes_) {
      size_ = 0;
      throw std::bad_alloc();
    }
    ::madvise(bytes_.get(), size_, MADV_HUGEPAGE);
  }
  return bytes_.get();
}

}  // namespace bale
