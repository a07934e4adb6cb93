// Copies or links a whole shard with its index, its seek points and its sidecars under the temporary names of a run.
// Nothing in them depends on the shard's name.
#pragma once

#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

struct ShardCopy {
  std::string from;            // path of the shard
  const ManifestShard& shard;  // as the manifest next to it describes it
  bool link = false;           // if the file system can
  std::string file;            // new file name
  std::string staged_path;     // temporary name
};

/// The index of a shard, compared with what its manifest says, and amended by the layers. Throws `damaged`, and what
/// ShardIndex::load() throws.
ShardIndex load_index_of(const std::string& path, const ManifestShard& shard, const Layers& layers = {});

/// Everything is durable when it returns. `options` says which files belong to the shard. Throws `damaged` if the shard
/// is not what its manifest and its index say: a copy is compared with the digest, a link in size and ends. Throws
/// `interrupted` soon after `progress.stop` is set.
FinishedShard copy_shard(const ShardCopy& copy, const PackOptions& options, Progress& progress);

}  // namespace bale
