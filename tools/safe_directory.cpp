#include "bale/tools/safe_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/file.hpp"

namespace bale::tools {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr const char* k_temporary = ".bale-extract.tmp";

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("refusing to write \"{}\": {}", printable(name), why),
              {.hint = "choose other samples with --include"});
}

bool write_whole(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

/// Opens directory `name` in `parent`, making it where it does not exist; -1 with errno set.
int enter(int parent, const std::string& name) {
  int fd = ::openat(parent, name.c_str(), k_directory_flags);
  if (fd >= 0 || errno != ENOENT) return fd;
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) return -1;
  return ::openat(parent, name.c_str(), k_directory_flags);
}

}  // namespace

void check_contained(std::string_view name) {
  if (name.empty()) refuse(name, "it is empty");
  if (name.front() == '/') refuse(name, "it is absolute");
  if (name.find('\0') != std::string_view::npos) refuse(name, "it holds a NUL byte");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) refuse(name, "a part of it is empty");
    if (part == "." || part == "..") refuse(name, fmt::format("a part of it is \"{}\"", part));
    begin = end + 1;
  }
}

SafeDirectory::SafeDirectory(const std::string& path) : path_(path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw_errno("make the directory", path);
  // The directory itself is the user's word: a link there is followed.
  root_fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd_ < 0) throw_errno("open the directory", path);
}

SafeDirectory::~SafeDirectory() {
  if (parent_fd_ >= 0) ::close(parent_fd_);
  if (root_fd_ >= 0) ::close(root_fd_);
}

std::string SafeDirectory::shown(std::string_view name) const { return join_path(path_, name); }

int SafeDirectory::parent_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return root_fd_;
  const std::string_view directory = name.substr(0, slash);
  if (parent_fd_ >= 0 && parent_ == directory) return parent_fd_;
  int fd = ::dup(root_fd_);
  for (std::size_t begin = 0; fd >= 0 && begin <= directory.size();) {
    const std::size_t end = std::min(directory.find('/', begin), directory.size());
    const int below = enter(fd, std::string(directory.substr(begin, end - begin)));
    const int error = errno;
    ::close(fd);
    errno = error;
    fd = below;
    begin = end + 1;
  }
  if (fd < 0) {
    if (errno == ELOOP || errno == ENOTDIR) {
      throw Error(ErrorCode::exists, "something that is not a directory is in the way",
                  {.path = shown(directory), .hint = "choose an empty directory"});
    }
    throw_errno("make the directory", shown(directory));
  }
  if (parent_fd_ >= 0) ::close(parent_fd_);
  parent_fd_ = fd;
  parent_ = directory;
  return fd;
}

void SafeDirectory::write(std::string_view name, Bytes bytes, bool replace) {
  check_contained(name);
  const int parent = parent_of(name);
  const std::string base = base_name(std::string(name));
  // O_EXCL refuses a symbolic link too; a replacement is complete before it takes the name.
  const std::string target = replace ? k_temporary : base;
  if (replace) ::unlinkat(parent, k_temporary, 0);
  const int fd = ::openat(parent, target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) {
    if (errno == EEXIST) {
      throw Error(ErrorCode::exists, "file is there already",
                  {.path = shown(name), .hint = "use --force to replace files"});
    }
    throw_errno("create", shown(name));
  }
  bool written = write_whole(fd, bytes);
  int error = errno;
  if (::close(fd) != 0 && written && errno != EINTR) {
    written = false;
    error = errno;
  }
  if (written && replace && ::renameat(parent, target.c_str(), parent, base.c_str()) != 0) {
    written = false;
    error = errno;
  }
  if (written) return;
  ::unlinkat(parent, target.c_str(), 0);
  errno = error;
  throw_errno("write", shown(name));
}

}  // namespace bale::tools
