#include "bale/writer/journal/journal_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

JournalFile JournalFile::open(const Directory& directory, const std::string& name) {
  constexpr int k_flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  JournalFile file(Descriptor(::openat(directory.fd(), name.c_str(), k_flags, 0666)),
                   join_path(directory.path(), name));
  if (!file.is_open() && errno == ENOENT) return {};
  struct stat info {};
  const bool is_other = file.is_open() ? ::fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode)
                                       : errno == ELOOP || errno == EISDIR || errno == ENXIO;
  if (is_other) {
    throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                {.path = file.path(), .hint = "move it away"});
  }
  if (!file.is_open()) throw_errno("create", file.path());
  return file;
}

bool JournalFile::has_its_name(const std::string& path) const {
  struct stat opened {};
  struct stat named {};
  if (::fstat(fd(), &opened) != 0) throw_errno("examine", path);
  if (::lstat(path.c_str(), &named) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_errno("examine", path);
  }
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string JournalFile::text() const {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::pread(fd(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("read", path_);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void JournalFile::write(std::uint64_t offset, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::pwrite(fd(), text.data(), text.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_errno("write", path_);
    offset += static_cast<std::uint64_t>(put);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  sync();
}

void JournalFile::truncate(std::uint64_t size) {
  while (::ftruncate(fd(), static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) throw_errno("set the size of", path_);
  }
  sync();
}

void JournalFile::sync() {
  // Not retried: after a failed fsync the kernel may have dropped the dirty pages.
  if (::fsync(fd()) != 0) throw_errno("fsync", path_);
}

}  // namespace bale
