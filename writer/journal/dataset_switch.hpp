// Replaces an old dataset by a new one whose files are all complete and durable under temporary names.
//
// The steps are written to the journal first. From then on they can be repeated from any point, without the source, and
// always end with the new dataset.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bale/writer/destination/directory.hpp"

namespace bale {

/// Paths are relative to the destination.
struct Replacement {
  /// A file's name in the partial directory, and its final path.
  using Move = std::pair<std::string, std::string>;

  std::vector<std::string> old_manifests;
  std::vector<std::string> old_files;  // those whose names no new file has
  std::vector<Move> files;
  std::vector<Move> manifests;
  /// When the manifests have their names: files of the destination that get another path there, and files that go.
  std::vector<Move> moved_last{};
  std::vector<std::string> removed_last{};
};

/// Old manifests are removed first, so that none ever names files of another dataset. New ones come after all other new
/// files. Each step is durable before the next.
void carry_out(const Replacement& replacement, DirectoryTree& destination, const Directory& partial);

}  // namespace bale
