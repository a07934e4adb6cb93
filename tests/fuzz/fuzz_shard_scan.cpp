// Whatever the bytes of a file, every format whose scan is said to survive damage lists its samples or
// refuses it, and every field it lists can be read or is refused.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/shard.hpp"

namespace {

void scan_and_read(const bale::Format& format, const std::string& path) {
  try {
    const bale::Shard shard = bale::Shard::open(path, format, bale::scan_shard(path, format));
    bale::Scratch scratch;
    for (std::uint64_t i = 0; i < shard.size(); ++i) {
      try {
        shard.read(i, scratch);
      } catch (const bale::Error&) {
      }
    }
  } catch (const bale::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  for (const bale::Format* format : bale::formats()) {
    if (format->scan_survives_damage && format->on_disk) scan_and_read(*format, path);
  }
  ::close(fd);
  return 0;
}
