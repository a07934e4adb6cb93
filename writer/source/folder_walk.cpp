#include "bale/writer/source/folder_walk.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/file_rows.hpp"
#include "bale/writer/source/long_path.hpp"
#include "bale/writer/source/python_order.hpp"

namespace bale {
namespace {

using Kind = EntryKind;

/// An open directory. Entries come in the file system's order.
class DirectoryStream {
 public:
  explicit DirectoryStream(Descriptor fd, const std::string& path) : path_(path), stream_(::fdopendir(fd.get())) {
    if (stream_ == nullptr) throw_errno("read the directory", path);
    fd.release();
  }

  int fd() const { return ::dirfd(stream_.get()); }

  /// Null at the end. Throws `io`.
  const dirent* next() {
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream_.get());
      if (entry == nullptr && errno != 0) throw_errno("read the directory", path_);
      if (entry == nullptr) return nullptr;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry;
    }
  }

  struct Found {
    Kind kind;
    bool through_link;
  };
  Found kind_of(const dirent& entry) const {
    if (entry.d_type == DT_REG) return {Kind::file, false};
    if (entry.d_type == DT_DIR) return {Kind::directory, false};
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return {Kind::other, false};
    struct stat info {};
    bool link = entry.d_type == DT_LNK;
    if (!link) {
      if (::fstatat(fd(), entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {Kind::gone, false};
      link = S_ISLNK(info.st_mode);
    }
    if (link && ::fstatat(fd(), entry.d_name, &info, 0) != 0) return {Kind::broken_link, true};
    if (S_ISREG(info.st_mode)) return {Kind::file, link};
    return {S_ISDIR(info.st_mode) ? Kind::directory : Kind::other, link};
  }

 private:
  struct Closer {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::string& path_;
  std::unique_ptr<DIR, Closer> stream_;
};

[[noreturn]] void refuse_directory(const std::string& path) {
  const int value = errno;
  throw Error(ErrorCode::io, "cannot read the directory",
              {.path = path,
               .hint = "leave it out with `exclude`, or go on without it with `on_error` skip",
               .system_error = value});
}

}  // namespace

DirectoryWalk::DirectoryWalk(const std::string& root, WalkRules rules, NoticeLog& notices,
                             std::vector<SourceLoss>& losses)
    : root_(root), rules_(std::move(rules)), notices_(notices), losses_(losses) {
  struct stat info {};
  if (stat_long_path(root, info) != 0) throw_errno("examine", root);
  nodes_.push_back({.device = info.st_dev, .inode = info.st_ino});
}

std::vector<DirectoryFiles> DirectoryWalk::files_below(const std::string& top) {
  nodes_.resize(1);
  if (top == root_) {
    waiting_.push_back({top, 0});
  } else {
    nodes_.push_back({.parent = 0, .below_link = true});
    waiting_.push_back({top, 1});
  }
  while (!waiting_.empty()) {
    const Waiting next = std::move(waiting_.back());
    waiting_.pop_back();
    try {
      read_directory(next.path, next.node);
    } catch (const Error& error) {
      if (!rules_.skip_unreadable || error.code() != ErrorCode::io || is_lack_of_resources(error)) throw;
      losses_.push_back({.path = next.path, .why = error.what()});
    }
  }
  std::sort(found_.begin(), found_.end(),
            [](const DirectoryFiles& a, const DirectoryFiles& b) { return python_less(a.path(), b.path()); });
  return std::exchange(found_, {});
}

bool DirectoryWalk::is_own_ancestor(const Node& node) const {
  if (!node.below_link) return false;
  for (std::size_t up = node.parent; up != Node::k_no_parent; up = nodes_[up].parent) {
    if (nodes_[up].device == node.device && nodes_[up].inode == node.inode) return true;
  }
  return false;
}

/// A directory may be visited again through a link, but not below another one that is visited again: directories that
/// link to each other have too many paths to visit all.
bool DirectoryWalk::is_repeated_too_often(Node& node) {
  const bool seen = !seen_.insert({node.device, node.inode}).second;
  node.repeated = node.parent != Node::k_no_parent && nodes_[node.parent].repeated;
  if (!seen || !node.is_link) return false;
  if (node.repeated) return true;
  node.repeated = true;
  return false;
}

void DirectoryWalk::read_directory(const std::string& path, std::size_t number) {
  Descriptor fd = open_long_path(path, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) {
    if (errno != ENOENT) refuse_directory(path);
    notices_.add(path, "gone since it was listed");
    return;
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw_errno("examine", path);
  Node& node = nodes_[number];
  node.device = info.st_dev;
  node.inode = info.st_ino;
  if (is_own_ancestor(node)) return notices_.add(path, "link loop");
  if (is_repeated_too_often(node)) return notices_.add(path, "link to a directory that such links lead to already");
  DirectoryStream stream(std::move(fd), path);
  DirectoryFiles files(path);
  std::vector<std::pair<std::string, bool>> directories;
  std::optional<Error> failure;
  try {
    while (const dirent* entry = stream.next()) {
      const DirectoryStream::Found found = stream.kind_of(*entry);
      if (found.kind == Kind::directory) {
        directories.emplace_back(entry->d_name, found.through_link);
      } else {
        take_file(entry->d_name, found.kind, files);
      }
    }
  } catch (const Error& error) {
    failure = error;  // entries that were listed before the error are kept
  }
  add_directories(directories, number, path);
  if (files.size() != 0) {
    files.sort();
    found_.push_back(std::move(files));
  }
  if (failure) throw Error(*failure);
}

/// Sorted, whatever the file system's order: the order decides which of several links is visited first.
void DirectoryWalk::add_directories(std::vector<std::pair<std::string, bool>>& names, std::size_t parent,
                                    const std::string& path) {
  std::sort(names.begin(), names.end(), std::greater<>());
  for (const auto& [name, is_link] : names) {
    std::string child = below(path, name);
    if (child.size() > FileRows::k_max_path_bytes) {
      notices_.add(child, "the path is too long");
    } else if (rules_.excluded && rules_.excluded(child)) {
      notices_.add(child, "a directory that `exclude` matches");
    } else {
      nodes_.push_back({.parent = parent, .below_link = nodes_[parent].below_link || is_link, .is_link = is_link});
      waiting_.push_back({std::move(child), nodes_.size() - 1});
    }
  }
}

void DirectoryWalk::take_file(const char* name, Kind kind, DirectoryFiles& files) {
  const auto pass_over = [&](const char* why) { notices_.add(below(files.path(), name), why); };
  if (kind == Kind::file) return rules_.wanted(name) ? files.add(name) : pass_over("not an image by its name");
  if (kind == Kind::broken_link) return pass_over("broken link");
  if (kind == Kind::gone) return pass_over("gone since it was listed");
  pass_over("not a regular file");
}

void DirectoryFiles::add(const char* name) {
  starts_.push_back(names_.size());
  names_ += name;
  names_ += '\0';
}

void DirectoryFiles::sort() {
  std::sort(starts_.begin(), starts_.end(),
            [&](std::size_t a, std::size_t b) { return python_less(names_.c_str() + a, names_.c_str() + b); });
}

TopLevel list_top_level(const std::string& path) {
  Descriptor fd = open_long_path(path, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) {
    if (errno == ENOENT) throw Error(ErrorCode::not_found, "no such folder", {.path = path, .hint = "check the path"});
    if (errno == ENOTDIR) throw Error(ErrorCode::invalid_argument, "not a folder", {.path = path});
    throw_errno("read the directory", path);
  }
  TopLevel top;
  DirectoryStream stream(std::move(fd), path);
  while (const dirent* entry = stream.next()) {
    const bool is_directory = stream.kind_of(*entry).kind == Kind::directory;
    (is_directory ? top.directories : top.files).emplace_back(entry->d_name);
  }
  std::sort(top.directories.begin(), top.directories.end(), python_less);
  std::sort(top.files.begin(), top.files.end(), python_less);
  return top;
}

}  // namespace bale
