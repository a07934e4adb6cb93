#include "bale/reader/spec/shard_place.hpp"

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/reader/version.hpp"

namespace bale {

std::string place_of_shard(const std::string& path) {
  if (path_exists(path)) return path;
  std::string moved = join_name(join_name(parent_directory(path), k_versions_name), base_name(path));
  return path_exists(moved) ? moved : path;
}

void require_kept(const std::string& path, const Manifest& manifest) {
  std::string directory = parent_directory(path);
  if (base_name(directory) == k_versions_name) directory = parent_directory(directory);
  const std::string kept = join_name(directory, kept_version(version_id(manifest)));
  if (path_exists(kept) && parse_gone_version(std::string(as_text(read_file(kept))))) load_manifest(kept);
}

}  // namespace bale
