#include "bale/reader/seek_points_named.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/seek_point_file.hpp"

namespace bale {

bool may_have_seek_points(const Dataset& dataset, std::size_t shard) {
  const bool is_local = remote_storage_of(dataset.shard_path(shard)) == nullptr;
  if (is_local || !dataset.manifest() || dataset.manifest()->shards.size() != dataset.num_shards()) return true;
  const ManifestShard& named = dataset.manifest()->shards[shard];
  return std::any_of(named.sidecars.begin(), named.sidecars.end(), [&](const std::string& file) {
    return file == seek_point_path(named.file) || file == old_seek_point_path(named.file);
  });
}

}  // namespace bale
