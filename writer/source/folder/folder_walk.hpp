// Walks a directory tree in the order of Python's `sorted(os.walk(top, followlinks=True))`.
//
// For one thread, which starts threads of its own that read directories ahead.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/writer/source/files/directory_listing.hpp"
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
  std::string names_;  // each NUL-terminated
  std::vector<std::size_t> starts_;
};

/// Names in a directory as os.scandir lists them, sorted. `directories` includes links to directories.
struct TopLevel {
  std::vector<std::string> directories;
  std::vector<std::string> files;         // everything else
  std::vector<std::string> broken_links;  // those of them that may_be_directory()
};
/// Whether a broken link, by its name, may lead to a directory: it has no extension. One that has is taken for a file.
bool may_be_directory(std::string_view broken_link);
/// The error of such a link, with which samples are missing.
Error broken_directory_link(const std::string& path);
/// Throws `not_found` if there is no such directory, `io` if it cannot be read.
DirectoryListing listing_of(const std::string& path);
TopLevel top_level_of(const DirectoryListing& listing);
inline TopLevel list_top_level(const std::string& path) { return top_level_of(listing_of(path)); }

/// open_folder_source() of a folder that may have been listed already.
std::unique_ptr<Source> open_listed_folder(const std::string& path, std::optional<DirectoryListing> listing,
                                           const SourceOptions& options);

/// Why such a directory is not a part of the folder.
inline constexpr std::string_view k_is_packed_dataset = "a packed dataset, not images";

/// Why the file of this name is ignored, if not for what `otherwise` says: the table of the Hugging Face Hub's
/// imagefolder is a source of its own.
std::string_view why_ignored(std::string_view name, std::string_view otherwise);

struct WalkRules {
  std::function<bool(std::string_view name)> wanted;  // which files are taken
  std::string_view why_unwanted = "not an image by its name";
  std::string_view why_unwanted_image{};  // of a file that is an image by its name; empty: as of any other
  /// What is left out: directories that are not opened, and files that are not wanted anyway. May be empty.
  std::function<bool(const std::string& path, bool is_directory)> excluded{};
  bool skip_unreadable = false;  // skip directories that cannot be read
};

/// Finds the wanted files in trees below one root. Links are followed; a broken link with the name of a wanted file is
/// one. Ignored entries (other files, devices, link loops) go to `notices`. Directories that cannot be read, and broken
/// links that may be some, go to `losses` or are an error. However directories link to each other, the work is bounded:
/// by directories, and by links times what one of them leads to.
class DirectoryWalk {
 public:
  /// A link that leads back to `root` is a loop. The logs must outlive the walk.
  /// Directories are read ahead by `jobs` threads; the result does not depend on it.
  DirectoryWalk(const std::string& root, WalkRules rules, NoticeLog& notices, std::vector<SourceLoss>& losses,
                unsigned jobs);

  /// files_below() will be called for the root, which was listed already.
  void give(DirectoryListing root) { ahead_.give(root_, std::move(root)); }
  /// A hint: files_below(top) will be called. The one announced last is read first.
  void announce(const std::string& top) { ahead_.announce(top); }

  /// All directories at and below `top` (the root, or a directory in it) that have wanted files. Throws `io` for a
  /// directory that cannot be read.
  std::vector<DirectoryFiles> files_below(const std::string& top);

 private:
  /// A visited directory. All are kept in one list, so that deep nesting uses no stack.
  struct Node {
    static constexpr std::size_t k_no_parent = ~std::size_t{0};
    std::size_t parent = k_no_parent;
    bool below_link = false;  // only then can it be its own ancestor
    bool is_link = false;
    bool repeated = false;  // it or a parent was visited before, and this time through a link
    dev_t device = 0;
    ino_t inode = 0;
  };
  struct PendingDirectory {
    std::string path;
    std::size_t node;
  };

  bool is_own_ancestor(const Node& node) const;
  bool is_repeated_too_often(Node& node);
  void read_directory(const std::string& path, std::size_t number);
  void add_directories(std::vector<std::pair<std::string, bool>>& names, std::size_t parent, const std::string& path);
  void take_file(const char* name, EntryKind kind, DirectoryFiles& files);
  void lose(const std::string& path, const Error& error);

  std::string root_;
  WalkRules rules_;
  NoticeLog& notices_;
  std::vector<SourceLoss>& losses_;
  std::vector<Node> nodes_;
  std::vector<PendingDirectory> waiting_;
  std::vector<DirectoryFiles> found_;
  std::set<std::pair<dev_t, ino_t>> seen_;  // visited directories, over all trees
  ListAhead ahead_;
};

}  // namespace bale
