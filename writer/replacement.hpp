// The step from an old dataset to the new one that takes its place, when every file of the new one is complete and
// durable under a temporary name.
//
// It is written to the journal before it begins. From then on it can be carried out again from any point, without the
// source, and always ends with the new dataset.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bale/writer/directory.hpp"

namespace bale {

/// Paths are relative to the destination.
struct Replacement {
  /// A file's name in the partial directory, and its path in the end.
  using Move = std::pair<std::string, std::string>;

  std::vector<std::string> old_manifests;
  std::vector<std::string> old_files;  // those whose names no new file takes
  std::vector<Move> files;
  std::vector<Move> manifests;
};

/// Old manifests go first, so that none ever names files of another dataset; new ones come last. Each of the steps is
/// durable before the next.
void carry_out(const Replacement& replacement, DirectoryTree& destination, const Directory& partial);

}  // namespace bale
