// SharedMemory: anonymous memory that is handed to other processes by its descriptor.
//
// A memfd: it has no name in /dev/shm, needs no room there, and is gone with its last user however that ends. Where the
// system refuses memfds (gVisor, seccomp profiles), a file without a name in /dev/shm or the temporary directory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::loader_detail {

class SharedMemory {
 public:
  /// Who else is to have it.
  enum class With : std::uint8_t {
    programs,  // by its descriptor
    children,  // processes forked from this one, and threads: there may be no descriptor
  };

  SharedMemory() = default;
  /// New memory, zero; pages of a memfd are taken when they are first touched. Throws `io`.
  static SharedMemory create(std::uint64_t size_bytes, With with = With::programs);
  /// The memory behind a descriptor that another process created; takes the descriptor over. Throws `io`.
  static SharedMemory attach(int fd);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_bytes_; }
  /// -1 if it cannot be handed to programs.
  int fd() const { return fd_; }

 private:
  SharedMemory(int fd, std::uint64_t size_bytes);
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace bale::loader_detail
