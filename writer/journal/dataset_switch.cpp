#include "bale/writer/journal/dataset_switch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {
namespace {

/// A file that is no longer in the partial directory has its final name: an earlier attempt moved it.
void move_all(const std::vector<Replacement::Move>& moves, DirectoryTree& destination, const Directory& partial) {
  for (const auto& [staged, path] : moves) destination.take(partial, staged, path);
  destination.sync();
}

/// Files get their new paths before the old ones go, so that a shard always lies next to its index. Where the file
/// system has no links, each file moves by itself.
void move_last(const std::vector<Replacement::Move>& moves, DirectoryTree& destination) {
  std::set<std::string> directories;
  for (const auto& [path, new_path] : moves) directories.insert(parent_directory(new_path));
  for (const std::string& directory : directories) destination.make(directory);
  for (const auto& [path, new_path] : moves) destination.link_below(path, new_path);
  for (const std::string& directory : directories) sync_directory(join_path(destination.root().path(), directory));
  for (const auto& [path, new_path] : moves) destination.move_below(path, new_path);
}

/// What a change writes has the access of the dataset's manifest, not what the umask leaves: who trains reads it.
void keep_access(const Replacement& replacement, const Directory& destination, const Directory& partial) {
  struct stat manifest {};
  if (::fstatat(destination.fd(), k_manifest_name, &manifest, 0) != 0 || !S_ISREG(manifest.st_mode)) return;
  for (const auto& [staged, path] : replacement.files) partial.give_access(staged, manifest);
  for (const auto& [staged, path] : replacement.manifests) partial.give_access(staged, manifest);
}

void put_in_place(const Replacement& replacement, DirectoryTree& destination, const Directory& partial) {
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

}  // namespace

void carry_out(const Replacement& replacement, DirectoryTree& destination, const Directory& partial) {
  keep_access(replacement, destination.root(), partial);
  put_in_place(replacement, destination, partial);
  move_last(replacement.moved_last, destination);
  for (const std::string& path : replacement.removed_last) destination.remove(path);
  destination.sync();
}

}  // namespace bale
