// Directories by descriptor. Entries are created, renamed and removed without following symbolic links, even if the
// path changes in the meantime. For one thread.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/writer/source/files/long_path.hpp"

namespace bale {

class Directory {
 public:
  /// Opens `path`. Symbolic links are followed, because the user chose the path. Throws `not_found` or `io`.
  static Directory open(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  /// The directory `name` in this one; nullopt if there is no such entry. Throws `exists` if the entry is a symbolic
  /// link or not a directory.
  std::optional<Directory> find(const std::string& name) const;
  /// Like find(), but creates the directory if it is missing and makes the new name durable.
  Directory make(const std::string& name) const;

  /// Names of all entries, sorted.
  std::vector<std::string> names() const;
  /// Whether there is an entry of this name. A dangling symbolic link counts.
  bool holds(const std::string& name) const;
  /// Gives a file the access that `of` has (take_access()). A missing entry is not an error.
  void give_access(const std::string& name, const struct stat& of) const;
  /// Removes a file or a symbolic link, not its target. A missing entry is not an error.
  void remove(const std::string& name) const;
  /// Removes a directory if it is empty. Returns false, with `errno` set, if it is not removed.
  bool remove_directory(const std::string& name) const;
  /// Moves an entry and replaces a file of the new name. Returns false if there is no such entry.
  bool rename(const std::string& name, const Directory& to, const std::string& new_name) const;
  /// Makes the names of all entries durable.
  void sync() const;

 private:
  Directory(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;
};

/// A directory and its subdirectories, for relative paths of at most two components ("a.tar", "train/a.tar").
class DirectoryTree {
 public:
  explicit DirectoryTree(Directory root) : root_(std::move(root)) {}

  const Directory& root() const { return root_; }
  /// Creates a subdirectory of the root. That of a dataset has the access of the root.
  void make(const std::string& subdirectory);
  bool holds(const std::string& path);
  /// Removes a file. A missing file is not an error.
  void remove(const std::string& path);
  /// Moves an entry of `from` to `path`. Returns false if `from` has no such entry.
  bool take(const Directory& from, const std::string& name, const std::string& path);
  /// Gives a file of the root a second name in a subdirectory, where the file system has links. A relative link leads
  /// from there to the same file.
  void link_below(const std::string& path, const std::string& new_path);
  /// Moves a file of the root there, also if link_below() was called. A missing file is not an error.
  void move_below(const std::string& path, const std::string& new_path);
  /// Makes the names in all changed directories durable.
  void sync();

 private:
  /// The directory that holds `path`; null if it is missing.
  const Directory* parent_of(const std::string& path);

  Directory root_;
  std::map<std::string, std::optional<Directory>> below_;
  std::map<std::string, const Directory*> changed_;  // by path
};

}  // namespace bale
