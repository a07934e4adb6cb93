#include "bale/tools/commands/reading/safe_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/names/url_rules.hpp"

namespace bale::tools {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t k_compared_bytes = std::size_t{1} << 18;

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("refusing to write \"{}\": {}", printable(name), why),
              {.hint = "choose other samples with `include`"});
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

/// Opens directory `name` in `parent` and creates it if it does not exist. Returns -1 with errno set on failure.
int enter(int parent, const std::string& name) {
  int fd = ::openat(parent, name.c_str(), k_directory_flags);
  if (fd >= 0 || errno != ENOENT) return fd;
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) return -1;
  return ::openat(parent, name.c_str(), k_directory_flags);
}

enum class Existing { nothing, same, other };

bool holds(int fd, Bytes bytes) {
  std::vector<std::byte> buffer(std::min(k_compared_bytes, bytes.size()));
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd, buffer.data(), std::min(buffer.size(), bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || std::memcmp(buffer.data(), bytes.data(), static_cast<std::size_t>(got)) != 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

/// What exists under the name. Does not follow links or wait for a FIFO. Throws for a name that no file can have, as
/// `shown`.
Existing compare_existing(int parent, const std::string& base, Bytes bytes, const std::string& shown) {
  const int fd = ::openat(parent, base.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ENAMETOOLONG) throw_errno("create", shown);
  if (fd < 0) return errno == ENOENT ? Existing::nothing : Existing::other;
  struct stat info {};
  const bool same = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                    static_cast<std::uint64_t>(info.st_size) == bytes.size() && holds(fd, bytes);
  ::close(fd);
  return same ? Existing::same : Existing::other;
}

/// Renames. Without `replace`, does not overwrite a file that appeared in the meantime, if the file system supports
/// that.
bool take_name(int parent, const std::string& temporary, const std::string& base, bool replace) {
  if (!replace) {
    if (::renameat2(parent, temporary.c_str(), parent, base.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno == EEXIST) return false;
  }
  if (::renameat(parent, temporary.c_str(), parent, base.c_str()) == 0) return true;
  // Not every file system can rename over an existing file.
  return replace && errno == EEXIST && ::unlinkat(parent, base.c_str(), 0) == 0 &&
         ::renameat(parent, temporary.c_str(), parent, base.c_str()) == 0;
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

std::string_view without_dot_prefix(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

SafeDirectory::SafeDirectory(const std::string& path) : path_(path) {
  require_local_name(path, UrlUse::writing);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw_errno("make the directory", path);
  // The user chose the directory itself, so a symbolic link there is followed.
  root_fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd_ < 0) throw_errno("open the directory", path);
  remove_stale_temporaries(root_fd_);
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
  if (cleared_.insert(parent_).second) remove_stale_temporaries(fd);
  return fd;
}

Written SafeDirectory::write(std::string_view name, Bytes bytes, bool replace) {
  check_contained(name);
  const int parent = parent_of(name);
  const std::string base = base_name(std::string(name));
  const Existing found = compare_existing(parent, base, bytes, shown(name));
  if (found == Existing::same) return Written::kept;
  if (found == Existing::other && !replace) {
    throw Error(ErrorCode::exists, "file is there already with other content",
                {.path = shown(name), .hint = "use `force` to replace files"});
  }
  write_new(parent, base, name, bytes, found == Existing::other);
  return found == Existing::other ? Written::replaced : Written::created;
}

/// A file is complete before it gets its name.
void SafeDirectory::write_new(int parent, const std::string& base, std::string_view name, Bytes bytes, bool replace) {
  const std::string temporary = temporary_name();
  // O_EXCL also refuses a symbolic link.
  const int fd = ::openat(parent, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) throw_errno("create", shown(name));
  bool written = write_whole(fd, bytes);
  int error = errno;
  if (::close(fd) != 0 && written && errno != EINTR) {
    written = false;
    error = errno;
  }
  if (written && !take_name(parent, temporary, base, replace)) {
    written = false;
    error = errno;
  }
  if (written) return;
  ::unlinkat(parent, temporary.c_str(), 0);
  errno = error;
  throw_errno("write", shown(name));
}

bool SafeDirectory::ignores_case() const {
  const std::string name = temporary_name();
  std::string capitals = name;
  for (char& letter : capitals) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const int fd = ::openat(root_fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return false;  // writing the first file reports why
  ::close(fd);
  const bool same = ::faccessat(root_fd_, capitals.c_str(), F_OK, 0) == 0;
  ::unlinkat(root_fd_, name.c_str(), 0);
  return same;
}

}  // namespace bale::tools
