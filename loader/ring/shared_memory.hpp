// SharedMemory: anonymous memory that is passed to other processes by file descriptor.
//
// A memfd: it uses no name or space in /dev/shm, and the kernel frees it when its last user ends, even by a crash. If
// the system refuses memfds (gVisor, seccomp profiles), an unnamed file in /dev/shm or in the temporary directory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::loader_detail {

class SharedMemory {
 public:
  /// Which processes share the memory.
  enum class With : std::uint8_t {
    programs,  // other programs, by file descriptor
    children,  // threads and processes forked from this one; there may be no descriptor
  };

  SharedMemory() = default;
  /// New memory, all zeros. Pages of a memfd are allocated when they are first used. Throws `io`.
  static SharedMemory create(std::uint64_t size_bytes, With with = With::programs);
  /// Maps memory that another process created. Takes ownership of `fd`. Throws `io`.
  static SharedMemory attach(int fd);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_bytes_; }
  /// -1 if the memory cannot be passed to other programs.
  int fd() const { return fd_; }

 private:
  SharedMemory(int fd, std::uint64_t size_bytes);
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

/// Moves `fd` to a number above the fixed descriptors of a worker, and closes `fd`. (If standard input, output or error
/// is closed, new files get the numbers 0 to 2.) -1 and `errno` if no such number is free: a worker would take another
/// file for it.
int above_worker_descriptors(int fd);

/// A new memfd with such a number; -1 if the system refuses it.
int memory_descriptor(const char* name);

}  // namespace bale::loader_detail
