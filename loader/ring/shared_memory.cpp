#include "bale/loader/ring/shared_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "bale/formats/core/error.hpp"

namespace bale::loader_detail {
namespace {

constexpr const char* k_name = "bale ring";  // shown in /proc/PID/maps, no file of that name exists

}  // namespace

SharedMemory::SharedMemory(int fd, std::uint64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {
  void* const at = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    ::close(std::exchange(fd_, -1));
    throw_errno("map shared memory", k_name);
  }
  data_ = static_cast<std::byte*>(at);
}

SharedMemory SharedMemory::create(std::uint64_t size_bytes) {
  const int fd = ::memfd_create(k_name, MFD_CLOEXEC);
  if (fd < 0) throw_errno("create shared memory", k_name);
  if (::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) {
    ::close(fd);
    throw_errno("size shared memory", k_name);
  }
  return SharedMemory(fd, size_bytes);
}

SharedMemory SharedMemory::attach(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw_errno("look at shared memory", k_name);
  return SharedMemory(fd, static_cast<std::uint64_t>(info.st_size));
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

}  // namespace bale::loader_detail
