#include "bale/formats/base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

int open_retrying(const std::string& path, int flags, mode_t mode = 0666) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

/// Whether fsync of a directory failed only because its file system does not support it: CIFS, vfat and many of FUSE's.
/// Names are then as durable as that file system makes them. Errors of the disk (EIO, ENOSPC) are not included.
bool cannot_sync_directories(int error) {
  return error == EINVAL || error == ENOTSUP || error == ENOSYS || error == EROFS || error == EBADF;
}

int open_regular(const std::string& path, int flags) {
  // O_NONBLOCK: opening a FIFO must fail, not wait. The flag has no effect on regular files.
  const int fd = open_retrying(path, flags | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw Error(ErrorCode::not_found, "no such file", {.path = path, .hint = "check the path"});
    }
    throw_errno("open", path);
  }
  struct stat info {};
  const int error = ::fstat(fd, &info) != 0 ? errno : 0;
  if (error != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    errno = error;
    if (error != 0) throw_errno("stat", path);
    const char* const hint = S_ISDIR(info.st_mode) ? "" : "write what comes out of it to a file, and name that";
    throw Error(ErrorCode::unsupported, "not a regular file", {.path = path, .hint = hint});
  }
  return fd;
}

std::size_t read_once(int fd, const std::string& path, std::uint64_t offset, MutableBytes out) {
  for (;;) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw_errno("read", path);
  }
}

/// Like read_once(), if the copy would be slow.
std::size_t read_around(int fd, const std::string& path, std::uint64_t offset, MutableBytes out) {
  Detour detour;
  const MutableBytes room = detour.beside(offset);
  std::size_t done = 0;
  while (done < out.size()) {
    const MutableBytes piece = room.first(std::min(room.size(), out.size() - done));
    const std::size_t got = read_once(fd, path, offset + done, piece);
    std::memcpy(out.data() + done, piece.data(), got);
    done += got;
    if (got < piece.size()) break;
  }
  return done;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), remote_(std::move(other.remote_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
    remote_ = std::move(other.remote_);
  }
  return *this;
}

File File::open_read(const std::string& path) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return {open_regular(path, O_RDONLY), path};
  File file(-1, path);
  file.remote_ = storage->open(path);
  return file;
}

File File::open_update(const std::string& path) { return {open_regular(path, O_RDWR), path}; }

File File::create(const std::string& path) {
  constexpr int k_flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  int fd = open_retrying(path, k_flags);
  if (fd < 0 && errno == EEXIST && ::unlink(path.c_str()) == 0) fd = open_retrying(path, k_flags);
  if (fd < 0) throw_errno("create", path);
  return {fd, path};
}

File File::create_unnamed(const std::string& directory) {
  const std::string shown = join_path(directory, "(temporary file)");
  constexpr mode_t k_mode = 0600;
  const int fd = open_retrying(directory, O_RDWR | O_TMPFILE, k_mode);
  if (fd >= 0) return {fd, shown};
  // Not every file system has O_TMPFILE. NFS keeps the removed file under another name until it is closed.
  const std::string name = join_path(directory, temporary_name());
  File file(open_retrying(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, k_mode), shown);
  if (!file.is_open()) throw_errno("create", shown);
  if (::unlink(name.c_str()) != 0) throw_errno("remove", name);
  return file;
}

std::uint64_t File::size() const {
  if (remote_) return remote_->size();
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw_errno("stat", path_);
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t File::read_some(std::uint64_t offset, MutableBytes out) const {
  if (remote_) return remote_->read_some(offset, out);
  if (copies_slowly(offset, out.data(), out.size())) return read_around(fd_, path_, offset, out);
  return read_once(fd_, path_, offset, out);
}

void File::read_exact(std::uint64_t offset, MutableBytes out) const {
  while (!out.empty()) {
    const std::size_t got = read_some(offset, out);
    if (got == 0) {
      throw Error(ErrorCode::damaged, fmt::format("file ends {} bytes too early", out.size()),
                  {.path = path_, .offset = offset, .hint = "copy or pack it again"});
    }
    offset += got;
    out = out.subspan(got);
  }
}

void File::write_at(std::uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw_errno("write", path_);
    }
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void File::write_all_at(std::uint64_t offset, std::span<const Bytes> parts) {
  std::array<struct iovec, 64> vectors;
  std::size_t first = 0;    // first part that is not completely written
  std::size_t written = 0;  // bytes of it that are written
  while (first < parts.size()) {
    std::size_t count = 0;
    for (std::size_t i = first; i < parts.size() && count < vectors.size(); ++i) {
      const Bytes left = parts[i].subspan(i == first ? written : 0);
      vectors[count++] = {.iov_base = const_cast<std::byte*>(left.data()), .iov_len = left.size()};
    }
    const ssize_t put = ::pwritev(fd_, vectors.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw_errno("write", path_);
    }
    offset += static_cast<std::uint64_t>(put);
    written += static_cast<std::size_t>(put);
    while (first < parts.size() && written >= parts[first].size()) written -= parts[first++].size();
  }
}

void File::truncate(std::uint64_t size) {
  while (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) throw_errno("set the size of", path_);
  }
}

void File::reserve(std::uint64_t size) {
  std::uint64_t end = this->size();
  if (end >= size) return;
  const int failed = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
  if (failed == 0) return;
  errno = failed;
  if (failed != EPERM && failed != ENOSYS) throw_errno("make room in", path_);
  // A sandbox may refuse the call. Zeros that are written take their place on the disk, too.
  const std::vector<std::byte> zeros(std::size_t{64} << 10);
  for (; end < size; end += zeros.size())
    write_at(end, Bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), size - end)));
}

void File::sync() {
  // Not retried: after a failed fsync the kernel may have dropped the dirty pages.
  if (::fsync(fd_) != 0) throw_errno("fsync", path_);
}

void File::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw_errno("close", path_);
}

bool File::forget(std::uint64_t offset, std::uint64_t length) const {
  if (remote_) remote_->forget(offset, length);
  return remote_ != nullptr;
}

void File::advise_sequential() const { ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL); }

void File::advise_will_need(std::uint64_t offset, std::uint64_t length) const {
  if (remote_) return remote_->will_need(offset, length);
  const std::uint64_t limit = length <= k_least_read_limit ? k_least_read_limit : read_limit(fd_);
  const std::uint64_t end = offset + length;
  // Pieces end at page boundaries: a page cut in two would take a request of its own.
  for (std::uint64_t begin = offset; begin < end;) {
    const std::uint64_t piece_end = std::min(begin - begin % k_page_bytes + limit, end);
    ::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(piece_end - begin), POSIX_FADV_WILLNEED);
    begin = piece_end;
  }
}

FileMapping::FileMapping(const std::string& path) {
  const File file = File::open_read(path);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ > 0) map(file, PROT_READ, MAP_PRIVATE);
}

FileMapping::FileMapping(const File& file, std::uint64_t size) : size_(static_cast<std::size_t>(size)) {
  map(file, PROT_READ | PROT_WRITE, MAP_SHARED);
}

void FileMapping::map(const File& file, int protection, int sharing) {
  void* const memory = ::mmap(nullptr, size_, protection, sharing, file.fd(), 0);
  if (memory == MAP_FAILED) throw_mapping_errno("map", file.path());
  memory_ = static_cast<std::byte*>(memory);
}

FileMapping::~FileMapping() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

File open_whole(const std::string& path) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return File::open_read(path);
  auto copy = storage->cache().local_copy(path);
  return copy ? std::move(*copy) : File::open_read(path);
}

std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit) {
  const File file = File::open_read(path);
  const std::uint64_t size = file.size();
  if (size > limit) {
    throw Error(ErrorCode::unsupported, fmt::format("{} bytes, more than the {} allowed here", size, limit),
                {.path = path});
  }
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  file.read_exact(0, content);
  return content;
}

void write_durably(const std::string& path, Bytes bytes) {
  File file = File::create(path);
  file.write_at(0, bytes);
  file.sync();
  file.close();
}

void publish_file(const std::string& path, Bytes bytes) { StagedFile(path, bytes).publish(); }

void publish_rename(const std::string& from, const std::string& to) {
  const auto renamed = [&] { return std::rename(from.c_str(), to.c_str()) == 0; };
  if (!renamed() && !(errno == EEXIST && ::unlink(to.c_str()) == 0 && renamed())) {
    throw_errno("rename to its final name", to);
  }
  sync_directory(parent_directory(to));
}

void sync_directory(const std::string& path) {
  const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) throw_errno("open", path);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (result != 0 && !cannot_sync_directories(error)) throw_errno("fsync", path);
}

bool name_is_taken(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool path_exists(const std::string& path) {
  if (const Storage* const storage = remote_storage_of(path)) return storage->exists(path);
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (!says_absent(errno)) throw_errno("look at", path);
  return false;
}

std::optional<std::uint64_t> file_size(const std::string& path) {
  if (remote_storage_of(path) != nullptr) return File::open_read(path).size();
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (!says_absent(errno)) throw_errno("look at", path);
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(info.st_size);
}

std::string parent_directory(const std::string& path) {
  if (const std::size_t query = begin_of_query(path); query < path.size()) {
    return parent_directory(path.substr(0, query)) + path.substr(query);
  }
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? std::string::npos : path.rfind('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name(const std::string& path) {
  if (const std::size_t query = begin_of_query(path); query < path.size()) return base_name(path.substr(0, query));
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "" : "/";
  const std::size_t slash = path.rfind('/', end);
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(start, end + 1 - start);
}

std::string join_path(const std::string& a, std::string_view b) {
  std::string path = a;
  if (!path.empty() && !path.ends_with('/')) path += '/';
  path += b;
  return path;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

}  // namespace bale
