// StagingDirectory: a local directory of a run's own, in which shards are built before they are uploaded.
//
// It is removed with this object. It is locked (flock) as long as its process lives, so what a killed process left is
// recognized, and removed by the next run that has the same place.
// For one thread; its path may be used by many.
#pragma once

#include <string>

#include "bale/writer/source/files/long_path.hpp"

namespace bale {

class StagingDirectory {
 public:
  /// Creates it in `parent`; empty: in TMPDIR or /tmp. Throws `not_found` if the parent is not a directory, and `io`.
  explicit StagingDirectory(const std::string& parent);
  ~StagingDirectory();
  StagingDirectory(const StagingDirectory&) = delete;
  StagingDirectory& operator=(const StagingDirectory&) = delete;

  /// Removes what killed processes left in `parent`.
  static void remove_stale(const std::string& parent);

  const std::string& path() const { return path_; }

 private:
  bool try_make(const std::string& place);

  std::string path_;
  Descriptor lock_;
};

}  // namespace bale
