// A directory that files are written below, whatever their names say: ".." and absolute names are refused,
// symbolic links are never followed, nothing is replaced unless asked.
//
// A file has its name only when it is complete, so a run that was stopped anywhere can be run again: what it wrote is
// found with the same bytes and kept. For one thread.
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
  kept,  // a file with the same bytes was there already
};

class SafeDirectory {
 public:
  /// Opens `path`, making it where it does not exist (its parent must).
  explicit SafeDirectory(const std::string& path);
  ~SafeDirectory();
  SafeDirectory(const SafeDirectory&) = delete;
  SafeDirectory& operator=(const SafeDirectory&) = delete;

  /// Writes `bytes` to `name` below the directory, making directories on the way. A file that has the name is kept if
  /// its bytes are the same. If they are not, it is replaced if `replace` says so; else throws `exists`.
  Written write(std::string_view name, Bytes bytes, bool replace);

  /// Whether names that differ only by upper and lower case are one name there.
  bool ignores_case() const;
  const std::string& path() const { return path_; }

 private:
  int parent_of(std::string_view name);
  void write_new(int parent, const std::string& base, std::string_view name, Bytes bytes, bool replace);
  std::string shown(std::string_view name) const;

  std::string path_;
  int root_fd_ = -1;
  std::string parent_;  // directory that parent_fd_ is open on, relative; samples of one folder are neighbors
  int parent_fd_ = -1;
  std::set<std::string, std::less<>> cleared_;  // directories whose stale temporary files were removed
};

}  // namespace bale::tools
