#include "bale/writer/destination/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

int open_directory_at(int parent, const std::string& name, int more_flags) {
  for (;;) {
    const int fd = ::openat(parent, name.c_str(), k_directory_flags | more_flags);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

/// First component of a relative path with two components; empty if there is only one.
std::string subdirectory_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

/// What a relative link leads to, for a link in a subdirectory; empty for any other file.
std::string target_from_below(const Directory& directory, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(directory.fd(), name.c_str(), target.data(), target.size());
  if (size <= 0 || target.front() == '/') return {};
  return "../" + target.substr(0, static_cast<std::size_t>(size));
}

}  // namespace

Directory Directory::open(const std::string& path) {
  Descriptor fd(open_directory_at(AT_FDCWD, path, 0));
  if (!fd.valid() && errno == ENOENT) throw Error(ErrorCode::not_found, "no such directory", {.path = path});
  if (!fd.valid()) throw_errno("open the directory", path);
  return {std::move(fd), path};
}

std::optional<Directory> Directory::find(const std::string& name) const {
  const std::string path = join_path(path_, name);
  Descriptor below(open_directory_at(fd(), name, O_NOFOLLOW));
  if (below.valid()) return Directory(std::move(below), path);
  if (errno == ENOENT) return std::nullopt;
  if (errno == ELOOP || errno == ENOTDIR) {
    throw Error(ErrorCode::exists, "a symbolic link or a file has the name of a directory",
                {.path = path, .hint = "bale writes through no link below its destination: move it away"});
  }
  throw_errno("open the directory", path);
}

Directory Directory::make(const std::string& name) const {
  if (::mkdirat(fd(), name.c_str(), 0777) == 0) {
    sync();
  } else if (errno == ENOENT) {
    throw Error(ErrorCode::not_found, "the directory was removed", {.path = path_});
  } else if (errno != EEXIST) {
    throw_errno("create the directory", join_path(path_, name));
  }
  std::optional<Directory> made = find(name);
  if (!made) throw Error(ErrorCode::not_found, "the directory was removed", {.path = join_path(path_, name)});
  return std::move(*made);
}

std::vector<std::string> Directory::names() const {
  const int copy = open_directory_at(fd(), ".", 0);
  if (copy < 0) throw_errno("list the directory", path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), &::closedir);
  if (stream == nullptr) {
    ::close(copy);
    throw_errno("list the directory", path_);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const struct dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) throw_errno("list the directory", path_);
  std::sort(names.begin(), names.end());
  return names;
}

bool Directory::holds(const std::string& name) const {
  struct stat info {};
  return ::fstatat(fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

void Directory::give_access(const std::string& name, const struct stat& of) const {
  const Descriptor file(::openat(fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.valid()) take_access(file.get(), of);
}

void Directory::remove(const std::string& name) const {
  if (::unlinkat(fd(), name.c_str(), 0) != 0 && errno != ENOENT) throw_errno("remove", join_path(path_, name));
}

bool Directory::remove_directory(const std::string& name) const {
  return ::unlinkat(fd(), name.c_str(), AT_REMOVEDIR) == 0;
}

bool Directory::rename(const std::string& name, const Directory& to, const std::string& new_name) const {
  const auto renamed = [&] { return ::renameat(fd(), name.c_str(), to.fd(), new_name.c_str()) == 0; };
  if (renamed()) return true;
  if (errno == ENOENT) return false;
  // Not every file system can rename over an existing file.
  if (errno == EEXIST && ::unlinkat(to.fd(), new_name.c_str(), 0) == 0 && renamed()) return true;
  throw_errno("rename to its final name", join_path(to.path(), new_name));
}

void Directory::sync() const { sync_directory(path_); }

const Directory* DirectoryTree::parent_of(const std::string& path) {
  const std::string name = subdirectory_of(path);
  if (name.empty()) return &root_;
  auto known = below_.find(name);
  if (known == below_.end()) known = below_.emplace(name, root_.find(name)).first;
  return known->second ? &*known->second : nullptr;
}

void DirectoryTree::make(const std::string& subdirectory) {
  const bool is_new = !root_.holds(subdirectory);
  Directory made = root_.make(subdirectory);
  struct stat of_root {};
  if (is_new && root_.holds(k_manifest_name) && ::fstat(root_.fd(), &of_root) == 0) take_access(made.fd(), of_root);
  below_.insert_or_assign(subdirectory, std::move(made));
}

bool DirectoryTree::holds(const std::string& path) {
  const Directory* const parent = parent_of(path);
  return parent != nullptr && parent->holds(base_name(path));
}

void DirectoryTree::remove(const std::string& path) {
  const Directory* const parent = parent_of(path);
  if (parent == nullptr) return;
  parent->remove(base_name(path));
  changed_[parent->path()] = parent;
}

bool DirectoryTree::take(const Directory& from, const std::string& name, const std::string& path) {
  if (parent_of(path) == nullptr) make(subdirectory_of(path));
  const Directory* const parent = parent_of(path);
  const bool taken = from.rename(name, *parent, base_name(path));
  if (taken) changed_[parent->path()] = parent;
  return taken;
}

void DirectoryTree::link_below(const std::string& path, const std::string& new_path) {
  const Directory* const to = parent_of(new_path);
  const std::string target = target_from_below(root_, path);
  if (target.empty()) {
    ::linkat(root_.fd(), path.c_str(), to->fd(), base_name(new_path).c_str(), 0);
  } else if (::symlinkat(target.c_str(), to->fd(), base_name(new_path).c_str()) != 0 && errno != EEXIST) {
    throw_errno("create the link", join_path(to->path(), base_name(new_path)));
  }
}

void DirectoryTree::move_below(const std::string& path, const std::string& new_path) {
  const Directory* const from = parent_of(path);
  const Directory* const to = parent_of(new_path);
  struct stat old_info {};
  struct stat new_info {};
  const bool is_linked = from != nullptr && to != nullptr &&
                         ::fstatat(from->fd(), base_name(path).c_str(), &old_info, AT_SYMLINK_NOFOLLOW) == 0 &&
                         ::fstatat(to->fd(), base_name(new_path).c_str(), &new_info, AT_SYMLINK_NOFOLLOW) == 0 &&
                         ((S_ISLNK(old_info.st_mode) && S_ISLNK(new_info.st_mode)) ||
                          (old_info.st_dev == new_info.st_dev && old_info.st_ino == new_info.st_ino));
  if (is_linked) return remove(path);  // rename() would leave both names
  if (from != nullptr && take(*from, base_name(path), new_path)) changed_[from->path()] = from;
}

void DirectoryTree::sync() {
  for (const auto& [path, directory] : changed_) directory->sync();
  changed_.clear();
}

}  // namespace bale
