// AlignedBuffer: memory that a device can write to directly, as O_DIRECT requires.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace bale {

class AlignedBuffer {
 public:
  /// Returns memory of at least `size` bytes that begins at a multiple of 2 MiB, and lives until the next call. Its
  /// content is undefined. Throws std::bad_alloc.
  std::byte* at_least(std::size_t size);

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

}  // namespace bale
