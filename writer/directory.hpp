// Directories by their descriptors: entries are made, renamed and removed without following a symbolic link, whatever
// becomes of the path meanwhile. For one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/writer/source/long_path.hpp"

namespace bale {

class Directory {
 public:
  /// Opens `path`. Links are followed: the path is the user's word. Throws `not_found` or `io`.
  static Directory open(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  /// The directory `name` in this one; nullopt if there is no such entry. Throws `exists` if the entry is a symbolic
  /// link or no directory.
  std::optional<Directory> find(const std::string& name) const;
  /// The same, made if it is missing; its name is then durable.
  Directory make(const std::string& name) const;

  /// Names of all entries, sorted.
  std::vector<std::string> names() const;
  /// Whether there is an entry, be it a link that leads nowhere.
  bool holds(const std::string& name) const;
  /// Removes a file or a link itself; an entry that is missing is no error.
  void remove(const std::string& name) const;
  /// Removes a directory if it is empty. False, with `errno` set, if it stays.
  bool remove_directory(const std::string& name) const;
  /// Moves an entry, over a file of that name. False if there is no such entry.
  bool rename(const std::string& name, const Directory& to, const std::string& new_name) const;
  /// Makes the names of all entries durable.
  void sync() const;

 private:
  Directory(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;
};

/// A directory and the directories directly in it, for relative paths of at most two parts ("a.tar", "train/a.tar").
class DirectoryTree {
 public:
  explicit DirectoryTree(Directory root) : root_(std::move(root)) {}

  const Directory& root() const { return root_; }
  /// Makes a directory of the root.
  void make(const std::string& subdirectory);
  bool holds(const std::string& path);
  /// Removes a file. What is missing is no error.
  void remove(const std::string& path);
  /// Moves an entry of `from` to `path`; false if `from` has no such entry.
  bool take(const Directory& from, const std::string& name, const std::string& path);
  /// Makes the names in all directories that were changed durable.
  void sync();

 private:
  /// The directory that holds `path`; null if it is missing.
  const Directory* parent_of(const std::string& path);

  Directory root_;
  std::map<std::string, std::optional<Directory>> below_;
  std::map<std::string, const Directory*> changed_;  // by path
};

}  // namespace bale
