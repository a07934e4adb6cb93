#include "bale/writer/run/objects/object_shards.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"

namespace bale {

bool is_published(const ObjectDestination& destination, const std::vector<Replacement::Move>& moves,
                  const ManifestShard& shard) {
  const auto is_there = [&](const Replacement::Move& move) { return destination.holds(move.second); };
  if (!std::all_of(moves.begin(), moves.end(), is_there)) return false;
  const std::string& file = moves.back().second;
  const std::string directory = file.substr(0, file.size() - shard.file.size());
  for (const std::string& sidecar : shard.sidecars) {
    if (!destination.holds(directory + sidecar)) return false;
  }
  if (destination.find(file)->size != shard.bytes) return false;
  auto bytes = destination.store().read(index_path(file));
  if (!bytes) return false;
  try {
    const ShardIndex index = ShardIndex::from_bytes(std::move(*bytes), destination.store().name_of(index_path(file)));
    return index.digest() && digest_text(*index.digest()) == shard.digest;
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

FinishedShard write_staged(const PackOptions& options, const std::string& staging,
                           const std::function<FinishedShard()>& write) {
  try {
    return write();
  } catch (const Error& error) {
    // The error names the shard's final name, which has nothing to do with the local disk.
    if (error.context().system_error == 0 || !error.context().path.starts_with(options.destination)) throw;
    ErrorContext context = error.context();
    context.path = staging;
    context.hint = "name a directory with more room as `staging_dir`, or pack smaller shards or with fewer `jobs`";
    throw Error(error.code(), error.message(), std::move(context));
  }
}

}  // namespace bale
