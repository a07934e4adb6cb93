// Walking a directory tree in the order of Python's `sorted(os.walk(top, followlinks=True))`.
//
// For one thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// The wanted files of one directory, in Python's order.
class DirectoryFiles {
 public:
  explicit DirectoryFiles(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::size_t size() const { return starts_.size(); }
  /// Borrows from this object.
  std::string_view operator[](std::size_t i) const { return names_.c_str() + starts_[i]; }

  void add(const char* name);
  void sort();

 private:
  std::string path_;
  std::string names_;  // each with its NUL
  std::vector<std::size_t> starts_;
};

/// Names below `top` as os.scandir gives them, sorted; `directories` counts links to directories too.
struct TopLevel {
  std::vector<std::string> directories;
  std::vector<std::string> files;  // everything else
};
/// Throws `not_found` where there is no such directory, `io` where it cannot be read.
TopLevel list_top_level(const std::string& path);

enum class EntryKind { directory, file, other, broken_link, gone };

struct WalkRules {
  std::function<bool(std::string_view name)> wanted;        // which files are taken
  std::function<bool(const std::string& path)> excluded{};  // directories that are not opened; may be empty
  bool skip_unreadable = false;                             // go on without a directory that cannot be read
};

/// Finds the wanted files of trees below one root. Links are followed; what is ignored (other files, devices,
/// broken links, link loops) goes to `notices`, directories that cannot be read to `losses` or are an error. However
/// folders link to each other, the work is bounded: by directories, and by links times what one of them leads to.
class DirectoryWalk {
 public:
  /// Links must not lead back to `root`. The logs must outlive the walk.
  DirectoryWalk(const std::string& root, WalkRules rules, NoticeLog& notices, std::vector<SourceLoss>& losses);

  /// Every directory at and below `top` (the root, or a directory in it) that has wanted files. Throws `io` for one
  /// that cannot be read.
  std::vector<DirectoryFiles> files_below(const std::string& top);

 private:
  /// A directory on the way to others. Kept in one growing list, so that no depth of nesting costs stack.
  struct Node {
    static constexpr std::size_t k_no_parent = ~std::size_t{0};
    std::size_t parent = k_no_parent;
    bool below_link = false;  // only then can it be its own ancestor
    bool is_link = false;
    bool repeated = false;  // it or a directory above it was taken before, and this time through a link
    dev_t device = 0;
    ino_t inode = 0;
  };
  struct Waiting {
    std::string path;
    std::size_t node;
  };

  bool is_own_ancestor(const Node& node) const;
  bool is_repeated_too_often(Node& node);
  void read_directory(const std::string& path, std::size_t number);
  void add_directories(std::vector<std::pair<std::string, bool>>& names, std::size_t parent, const std::string& path);
  void take_file(const char* name, EntryKind kind, DirectoryFiles& files);

  std::string root_;
  WalkRules rules_;
  NoticeLog& notices_;
  std::vector<SourceLoss>& losses_;
  std::vector<Node> nodes_;
  std::vector<Waiting> waiting_;
  std::vector<DirectoryFiles> found_;
  std::set<std::pair<dev_t, ino_t>> seen_;  // directories taken, over all trees
};

}  // namespace bale
