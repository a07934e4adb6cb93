// SourceRoot: paths below the root of a source, in the ways in which users write them: with the root or without, with
// "./", repeated slashes, or a slash at the front that stands for the root, as in rsync's and git's patterns.
//
// Immutable once made; safe in any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

class SourceRoot {
 public:
  /// "" is the current directory. Looks at the file system.
  explicit SourceRoot(const std::string& root);

  /// The path that `written` names, below the root. A slash at its end stays.
  std::string below(std::string_view written) const;

 private:
  void add(std::string_view directory);

  std::vector<std::string> prefixes_;  // of paths that begin with the root
};

/// The path without ".", repeated slashes, and slashes at its end.
std::string clean_path(std::string_view path);

}  // namespace bale
