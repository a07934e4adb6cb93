// RemainingLayers: the layers of a version whose shards are written again in part, with what layers say of these: what
// they say of the others. A layer that says something of both gets a new file.
//
// For one thread. Memory: 4 bytes per value of a field in the new file, 12 per label.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

class RemainingLayers {
 public:
  /// None.
  RemainingLayers() = default;
  /// `written`: digests of shards that are written again, as manifests have them.
  RemainingLayers(const Layers& layers, std::set<std::string> written);

  /// Those that stay as they are.
  std::vector<ManifestLayer> unchanged() const;
  /// Writes the files of the others. Throws `damaged` if one of their values is not what was written.
  void stage(RunStore& store, Progress& progress);
  /// All of them, in their order. Precondition: stage() returned.
  const std::vector<ManifestLayer>& all() const { return all_; }

 private:
  bool is_written(const Digest& shard) const { return written_.contains(digest_text(shard)); }
  Layer rest_of(std::size_t number) const;
  std::vector<std::size_t> shards_left(const FieldLayer& layer) const;
  ManifestLayer write_rest(const FieldLayer& layer, const std::vector<std::size_t>& shards, const std::string& staged,
                           Progress& progress) const;

  Layers layers_;
  std::set<std::string> written_;
  std::vector<bool> is_changed_;  // by number of the layer
  std::vector<ManifestLayer> all_;
};

}  // namespace bale
