// Opens and examines files whose paths may be longer than the kernel accepts (PATH_MAX).
//
// Functions are safe in any thread; a Descriptor belongs to one.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace bale {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(-1); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Transfers ownership to the caller.
  int release() { return std::exchange(fd_, -1); }

 private:
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int fd_ = -1;
};

/// open(2) with O_CLOEXEC, O_NONBLOCK (a FIFO must not block) and O_NOCTTY added, retried on EINTR.
/// Invalid on failure, with `errno` set.
Descriptor open_long_path(const std::string& path, int flags);

/// stat(2), following links; -1 on failure, with `errno` set.
int stat_long_path(const std::string& path, struct stat& info);

/// Modification time in nanoseconds since the epoch.
long long mtime_ns(const struct stat& info);

}  // namespace bale
