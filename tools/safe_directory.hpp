// A directory that files are written below, whatever their names say: ".." and absolute names are refused,
// symbolic links are never followed, nothing is replaced unless asked.
//
// For one thread.
#pragma once

#include <string>
#include <string_view>

#include "bale/formats/core/bytes.hpp"

namespace bale::tools {

/// Throws `unsupported` for a name that is not a plain path below a directory: empty, absolute, with an
/// empty, "." or ".." component, or with a NUL byte.
void check_contained(std::string_view name);

class SafeDirectory {
 public:
  /// Opens `path`, making it where it does not exist (its parent must).
  explicit SafeDirectory(const std::string& path);
  ~SafeDirectory();
  SafeDirectory(const SafeDirectory&) = delete;
  SafeDirectory& operator=(const SafeDirectory&) = delete;

  /// Writes `bytes` to `name` below the directory, making directories on the way. Throws `exists` where the
  /// name is taken and `replace` is false.
  void write(std::string_view name, Bytes bytes, bool replace);

 private:
  int parent_of(std::string_view name);
  std::string shown(std::string_view name) const;

  std::string path_;
  int root_fd_ = -1;
  std::string parent_;  // directory that parent_fd_ is open on, relative; samples of one folder are neighbours
  int parent_fd_ = -1;
};

}  // namespace bale::tools
