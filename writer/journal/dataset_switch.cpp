#include "bale/writer/journal/dataset_switch.hpp"

#include <algorithm>

namespace bale {
namespace {

/// A file that is no longer in the partial directory has its final name: an earlier attempt moved it.
void move_all(const std::vector<Replacement::Move>& moves, DirectoryTree& destination, const Directory& partial) {
  for (const auto& [staged, path] : moves) destination.take(partial, staged, path);
  destination.sync();
}

}  // namespace

void carry_out(const Replacement& replacement, DirectoryTree& destination, const Directory& partial) {
  const bool all_staged = std::all_of(replacement.manifests.begin(), replacement.manifests.end(),
                                      [&](const Replacement::Move& move) { return partial.holds(move.first); });
  // Manifests move last. If one of them has moved, everything before is done, and a file with an old manifest's name
  // may be the new manifest.
  if (!all_staged) return move_all(replacement.manifests, destination, partial);
  for (const std::string& path : replacement.old_manifests) destination.remove(path);
  destination.sync();
  for (const std::string& path : replacement.old_files) destination.remove(path);
  move_all(replacement.files, destination, partial);
  move_all(replacement.manifests, destination, partial);
}

}  // namespace bale
