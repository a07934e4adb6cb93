// --include and --exclude: shell patterns on paths or keys (KeyPattern); `*` crosses slashes.
//
// Immutable once made; safe in any thread.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/key_text.hpp"

namespace bale {

class NameFilter {
 public:
  NameFilter(const std::vector<std::string>& include, std::vector<std::string> exclude);

  /// Whether the name matches an include pattern (or there is none) and no exclude pattern.
  /// An exclude pattern that matches a directory also excludes everything below it.
  bool takes(const std::string& name) const;
  /// Whether an exclude pattern matches the directory, so that it is not read.
  bool excludes_directory(const std::string& name) const;
  /// Whether an exclude pattern such as "NAME/*" excludes everything in the directory.
  bool excludes_all_in(const std::string& name) const;
  bool takes_all() const { return include_.empty() && exclude_.empty(); }

 private:
  std::vector<KeyPattern> include_;
  std::vector<KeyPattern> exclude_;
  std::vector<std::string> exclude_texts_;
};

}  // namespace bale
