#include "bale/loader/ring/high_descriptor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bale::loader_detail {
namespace {

constexpr int k_first = 16;  // above those of worker/process/child_process.hpp

}  // namespace

int above_worker_descriptors(int fd) {
  if (fd < 0 || fd >= k_first) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, k_first);
  if (moved < 0) return fd;
  ::close(fd);
  return moved;
}

int memory_descriptor(const char* name) { return above_worker_descriptors(::memfd_create(name, MFD_CLOEXEC)); }

}  // namespace bale::loader_detail
