#include "bale/writer/source/folder_walk.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "bale/formats/core/error.hpp"
#include "bale/writer/source/file_rows.hpp"
#include "bale/writer/source/long_path.hpp"
#include "bale/writer/source/python_order.hpp"

namespace bale {
namespace {

enum class Kind { directory, file, other, broken_link, gone };

/// An open directory; entries come in the file system's own order.
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

/// A directory on the way to others. Kept in one growing list, so that no depth of nesting costs stack.
struct Node {
  static constexpr std::size_t k_no_parent = ~std::size_t{0};
  std::size_t parent = k_no_parent;
  bool below_link = false;  // only then can it be its own ancestor
  dev_t device = 0;
  ino_t inode = 0;
};

class Walker {
 public:
  Walker(const std::function<bool(std::string_view)>& wanted, NoticeLog& notices)
      : wanted_(wanted), notices_(notices) {}

  std::vector<DirectoryFiles> walk(const std::string& top, const std::string& root) {
    struct stat info {};
    if (stat_long_path(root, info) != 0) throw_errno("examine", root);
    nodes_.push_back({.device = info.st_dev, .inode = info.st_ino});
    if (top == root) {
      waiting_.push_back({top, 0});
    } else {
      nodes_.push_back({.parent = 0, .below_link = true});
      waiting_.push_back({top, 1});
    }
    while (!waiting_.empty()) {
      const Waiting next = std::move(waiting_.back());
      waiting_.pop_back();
      read_directory(next.path, next.node);
    }
    std::sort(found_.begin(), found_.end(),
              [](const DirectoryFiles& a, const DirectoryFiles& b) { return python_less(a.path(), b.path()); });
    return std::move(found_);
  }

 private:
  struct Waiting {
    std::string path;
    std::size_t node;
  };

  bool is_own_ancestor(const Node& node) const {
    if (!node.below_link) return false;
    for (std::size_t up = node.parent; up != Node::k_no_parent; up = nodes_[up].parent) {
      if (nodes_[up].device == node.device && nodes_[up].inode == node.inode) return true;
    }
    return false;
  }

  void read_directory(const std::string& path, std::size_t node) {
    Descriptor fd = open_long_path(path, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) {
      if (errno != ENOENT) throw_errno("read the directory", path);
      notices_.add(path, "gone since it was listed");
      return;
    }
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) throw_errno("examine", path);
    nodes_[node].device = info.st_dev;
    nodes_[node].inode = info.st_ino;
    if (is_own_ancestor(nodes_[node])) {
      notices_.add(path, "link loop");
      return;
    }
    DirectoryStream stream(std::move(fd), path);
    DirectoryFiles files(path);
    while (const dirent* entry = stream.next()) take(*entry, stream.kind_of(*entry), node, files);
    if (files.size() == 0) return;
    files.sort();
    found_.push_back(std::move(files));
  }

  void take(const dirent& entry, DirectoryStream::Found found, std::size_t node, DirectoryFiles& files) {
    const char* name = entry.d_name;
    const auto pass_over = [&](const char* why) { notices_.add(below(files.path(), name), why); };
    switch (found.kind) {
      case Kind::directory: {
        std::string path = below(files.path(), name);
        if (path.size() > FileRows::k_max_path_bytes) return pass_over("the path is too long");
        nodes_.push_back({.parent = node, .below_link = nodes_[node].below_link || found.through_link});
        waiting_.push_back({std::move(path), nodes_.size() - 1});
        return;
      }
      case Kind::file:
        return wanted_(name) ? files.add(name) : pass_over("not an image by its name");
      case Kind::broken_link:
        return pass_over("broken link");
      case Kind::gone:
        return pass_over("gone since it was listed");
      case Kind::other:
        return pass_over("not a regular file");
    }
  }

  const std::function<bool(std::string_view)>& wanted_;
  NoticeLog& notices_;
  std::vector<Node> nodes_;
  std::vector<Waiting> waiting_;
  std::vector<DirectoryFiles> found_;
};

}  // namespace

void DirectoryFiles::add(const char* name) {
  starts_.push_back(names_.size());
  names_ += name;
  names_ += '\0';
}

void DirectoryFiles::sort() {
  std::sort(starts_.begin(), starts_.end(),
            [&](std::size_t a, std::size_t b) { return python_less(names_.c_str() + a, names_.c_str() + b); });
}

std::vector<DirectoryFiles> walk_files(const std::string& top, const std::function<bool(std::string_view)>& wanted,
                                       NoticeLog& notices, const std::string& root) {
  return Walker(wanted, notices).walk(top, root);
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
