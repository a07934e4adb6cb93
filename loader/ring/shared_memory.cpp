#include "bale/loader/ring/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::loader_detail {
namespace {

constexpr const char* k_name = "bale ring";  // shown in /proc/PID/maps; there is no file of this name

/// Of the current `errno`.
[[noreturn]] void refuse(const char* action, std::uint64_t size_bytes) {
  const int failed = errno;
  const bool is_lack = failed == ENOMEM || failed == ENOSPC || failed == EFBIG;
  throw Error(is_lack ? ErrorCode::out_of_memory : ErrorCode::io,
              fmt::format("cannot {} {} bytes of memory for batches", action, size_bytes),
              {.hint = "use a smaller batch_size or prefetch, smaller images or a smaller dtype, or raise the limit "
                       "(`ulimit -v`, `ulimit -f`)",
               .system_error = failed});
}

std::string temporary_directory() {
  const char* const set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

/// The descriptor of an unnamed file. All of its bytes are allocated now: if the file system were full later, using the
/// memory would raise a signal. Throws `io`.
int reserved_file_in(const std::string& directory, std::uint64_t size_bytes) {
  File file = File::create_unnamed(directory);
  file.reserve(size_bytes);
  const int fd = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw_errno("keep a file in", directory);
  return fd;
}

/// Used if the system refuses memfds.
int file_without_name(std::uint64_t size_bytes, int memfd_error) {
  std::string why_not = fmt::format("memfd_create: {}", std::strerror(memfd_error));
  for (const std::string& directory : {std::string("/dev/shm"), temporary_directory()}) {
    try {
      return reserved_file_in(directory, size_bytes);
    } catch (const Error& error) {
      why_not += fmt::format("; {}", error.what());
    }
  }
  throw Error(ErrorCode::io,
              fmt::format("no {} bytes of memory to share with worker processes ({})", size_bytes, why_not),
              {.hint = "use threads as workers: threads=True in Python, WorkerMode::threads in C++"});
}

constexpr int k_first = 16;  // above those of worker/process/child_process.hpp

}  // namespace

SharedMemory::SharedMemory(int fd, std::uint64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {
  const int kind = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  void* const at = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, kind, fd, 0);
  if (at == MAP_FAILED) {
    const int failed = errno;
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    errno = failed;
    refuse("map", size_bytes);
  }
  data_ = static_cast<std::byte*>(at);
}

SharedMemory SharedMemory::create(std::uint64_t size_bytes, With with) {
  int fd = ::memfd_create(k_name, MFD_CLOEXEC);
  if (fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) {
    const int failed = errno;
    ::close(fd);
    errno = failed;
    refuse("reserve", size_bytes);
  }
  if (fd < 0 && with == With::programs) fd = file_without_name(size_bytes, errno);
  fd = above_worker_descriptors(fd);
  if (fd < 0 && with == With::programs) throw_errno("share memory with its workers", "the loader");
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

int above_worker_descriptors(int fd) {
  if (fd < 0 || fd >= k_first) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, k_first);
  const int failed = moved < 0 && errno == EINVAL ? EMFILE : errno;  // the limit permits no such number
  ::close(fd);
  errno = failed;
  return moved;
}

int memory_descriptor(const char* name) { return above_worker_descriptors(::memfd_create(name, MFD_CLOEXEC)); }

}  // namespace bale::loader_detail
