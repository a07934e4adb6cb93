#include "bale/reader/check/layer_check.hpp"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {

void LayerCheck::load(const std::string& directory, const Manifest& manifest, const OnDamage& on_damage) {
  const Layers layers(directory, manifest);
  try {
    layers.load();
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
    return on_damage({.path = error.context().path, .what = error_reason(error), .code = code_of_finding(error)});
  }
  layers_ = layers;
  for (const ManifestShard& shard : manifest.shards) {
    const ShardAmendments* const amendments = layers_.of(shard.digest);
    const std::uint64_t num_removed = amendments != nullptr ? amendments->removed.size() : 0;
    if (num_removed == shard.num_removed) continue;
    on_damage({.path = join_name(directory, shard.file),
               .what = fmt::format("the layers remove {} of its samples, the manifest says {}", num_removed,
                                   shard.num_removed)});
  }
}

LayersOfShard LayerCheck::of(const ManifestShard* listed, const ShardIndex& index) const {
  return {layers_, listed != nullptr ? layers_.of(listed->digest) : nullptr, index};
}

LayersOfShard::LayersOfShard(const Layers& layers, const ShardAmendments* amendments, const ShardIndex& index)
    : layers_(layers), amendments_(amendments), index_(index) {
  if (amendments_ == nullptr) return;
  for (const std::uint32_t row : amendments_->removed) {
    if (row < index_.size()) removed_.emplace(index_.key(row));
  }
}

void LayersOfShard::check_values(const std::string& path, Progress& progress, const OnDamage& on_damage) const {
  if (amendments_ == nullptr) return;
  for (const auto& [number, shard] : amendments_->field_parts) {
    const FieldLayer& layer = layers_.field_layer(number);
    try {
      check_values(layer, shard, path, progress, on_damage);
    } catch (const Error& error) {
      if (!concerns_one_file(error)) throw;
      on_damage({.path = layer.path(), .what = error_reason(error), .code = code_of_finding(error)});
    }
  }
}

void LayersOfShard::check_values(const FieldLayer& layer, std::size_t shard, const std::string& path,
                                 Progress& progress, const OnDamage& on_damage) const {
  std::vector<std::byte> value;
  std::uint64_t at = layer.values_at(shard);
  bool is_whole = true;
  for (const FieldLayerRow& row : layer.rows(shard)) {
    progress.throw_if_stopped();
    value.resize(layer.prefix().size() + row.bytes);
    layer.read(at, value);
    if (row.row >= index_.size())
      throw Error(ErrorCode::damaged, fmt::format("it names row {} of a shard of {} samples", row.row, index_.size()));
    if (crc32c(value) != row.crc32c) {
      is_whole = false;
      on_damage({.path = layer.path(),
                 .key = std::string(index_.key(row.row)),
                 .field = layer.field(),
                 .offset = at,
                 .what = "checksum does not match"});
    }
    at += row.bytes;
  }
  if (is_whole && !layer.has_values_as_written(shard))
    throw Error(ErrorCode::damaged, fmt::format("its values for {} are not those that were written", path));
}

}  // namespace bale
