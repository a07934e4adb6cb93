// What `bale verify` finds in layers: whether they are as the manifest says, and each value of a field. Internal.
//
// Threads: load() before all else; then any number may call.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {

using OnDamage = std::function<void(Damage)>;

/// What layers say of one shard, whose index is as it is stored. Borrows both.
class LayersOfShard {
 public:
  LayersOfShard(const Layers& layers, const ShardAmendments* amendments, const ShardIndex& index);

  /// Whether no reader gets the sample with this key.
  bool remove(std::string_view key) const { return !removed_.empty() && removed_.contains(std::string(key)); }
  /// Compares the values of fields that they have for the shard at `path` with their checksums.
  void check_values(const std::string& path, Progress& progress, const OnDamage& on_damage) const;

 private:
  void check_values(const FieldLayer& layer, std::size_t shard, const std::string& path, Progress& progress,
                    const OnDamage& on_damage) const;

  const Layers& layers_;
  const ShardAmendments* amendments_;  // nullptr: none
  const ShardIndex& index_;
  std::unordered_set<std::string> removed_;  // keys
};

class LayerCheck {
 public:
  /// Reads the layers of a version. What is not as its manifest says is damage; if they cannot be read, there are none.
  void load(const std::string& directory, const Manifest& manifest, const OnDamage& on_damage);
  /// `listed`: the shard in that manifest, or nullptr.
  LayersOfShard of(const ManifestShard* listed, const ShardIndex& index) const;

 private:
  Layers layers_;
};

}  // namespace bale
