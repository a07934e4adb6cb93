// Writes files below a directory and never outside it, whatever their names are. ".." and absolute names are refused,
// symbolic links are not followed, and nothing is replaced unless requested.
//
// A file gets its name only when it is complete, so an interrupted run can be repeated: existing files with the same
// bytes are kept. For one thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale::tools {

/// Throws `unsupported` for a name that is not a plain path below a directory: empty, absolute, with an
/// empty, "." or ".." component, or with a NUL byte.
void check_contained(std::string_view name);

/// `name` without the "./" that `tar -C DIR -cf x.tar .` writes before every name.
std::string_view without_dot_prefix(std::string_view name);

enum class Written {
  created,
  replaced,
  kept,  // a file with the same bytes already existed
};

class SafeDirectory {
 public:
  /// Opens `path` and creates it if it does not exist. Its parent must exist.
  explicit SafeDirectory(const std::string& path);
  ~SafeDirectory();
  SafeDirectory(const SafeDirectory&) = delete;
  SafeDirectory& operator=(const SafeDirectory&) = delete;

  /// Writes `bytes` to `name` below the directory, and creates missing directories. An existing file is kept if its
  /// bytes are the same. Otherwise it is replaced if `replace` is set; if not, throws `exists`.
  Written write(std::string_view name, Bytes bytes, bool replace);

  /// Whether the directory's file system ignores case in names.
  bool ignores_case() const;
  const std::string& path() const { return path_; }

 private:
  int parent_of(std::string_view name);
  void write_new(int parent, const std::string& base, std::string_view name, Bytes bytes, bool replace);
  std::string shown(std::string_view name) const;

  std::string path_;
  int root_fd_ = -1;
  std::string parent_;  // relative path of parent_fd_; kept open because samples of one folder are neighbors
  int parent_fd_ = -1;
  std::set<std::string, std::less<>> cleared_;  // directories whose stale temporary files were removed
};

}  // namespace bale::tools
