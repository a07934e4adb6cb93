#include "bale/writer/source/files/long_path.hpp"

#include <fcntl.h>

#include <cerrno>
#include <climits>

namespace bale {
namespace {

int open_retrying(int directory, const char* path, int flags) {
  for (;;) {
    const int fd = ::openat(directory, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

/// A directory and the rest of the path below it, short enough for one system call.
struct Anchor {
  Descriptor directory;
  const char* rest = nullptr;  // null: failed, with errno set

  int fd() const { return directory.valid() ? directory.get() : AT_FDCWD; }
};

Anchor anchor_of(const std::string& path) {
  Anchor anchor{{}, path.c_str()};
  std::size_t at = 0;
  while (path.size() - at >= PATH_MAX) {
    const std::size_t slash = path.rfind('/', at + PATH_MAX - 2);
    if (slash == std::string::npos || slash <= at) {
      errno = ENAMETOOLONG;
      return {{}, nullptr};
    }
    const std::string piece = path.substr(at, slash - at);
    Descriptor next(open_retrying(anchor.fd(), piece.c_str(), O_PATH | O_DIRECTORY));
    if (!next.valid()) return {{}, nullptr};
    anchor.directory = std::move(next);
    at = path.find_first_not_of('/', slash);
    anchor.rest = at == std::string::npos ? "." : path.c_str() + at;
    if (at == std::string::npos) break;
  }
  return anchor;
}

}  // namespace

Descriptor open_long_path(const std::string& path, int flags) {
  const Anchor anchor = anchor_of(path);
  if (anchor.rest == nullptr) return Descriptor();
  return Descriptor(open_retrying(anchor.fd(), anchor.rest, flags));
}

int stat_long_path(const std::string& path, struct stat& info) {
  const Anchor anchor = anchor_of(path);
  if (anchor.rest == nullptr) return -1;
  return ::fstatat(anchor.fd(), anchor.rest, &info, 0);
}

long long mtime_ns(const struct stat& info) {
  return static_cast<long long>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace bale
