#include "bale/writer/versions/remaining_layers.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/field_layer.hpp"

namespace bale {

RemainingLayers::RemainingLayers(const Layers& layers, std::set<std::string> written)
    : layers_(layers), written_(std::move(written)) {
  layers_.load();
  for (std::size_t number = 0; number < layers_.listed().size(); ++number) {
    const ManifestLayer& listed = layers_.listed()[number];
    if (field_of_layer(listed)) {
      const FieldLayer& layer = layers_.field_layer(number);
      is_changed_.push_back(shards_left(layer).size() != layer.shards().size());
    } else {
      is_changed_.push_back(describe_layer(rest_of(number), {}).num_rows != listed.num_rows);
    }
  }
}

std::vector<ManifestLayer> RemainingLayers::unchanged() const {
  std::vector<ManifestLayer> unchanged;
  for (std::size_t number = 0; number < is_changed_.size(); ++number) {
    if (!is_changed_[number]) unchanged.push_back(layers_.listed()[number]);
  }
  return unchanged;
}

void RemainingLayers::stage(RunStore& store, Progress& progress) {
  all_.clear();
  const auto stage_layer = [&](const auto& write) {
    store.stage_file([&](const std::string& staged) {
      all_.push_back(write(staged));
      return layer_name(all_.back().digest);
    });
  };
  for (std::size_t number = 0; number < is_changed_.size(); ++number) {
    if (!is_changed_[number]) {
      all_.push_back(layers_.listed()[number]);
    } else if (field_of_layer(layers_.listed()[number])) {
      const FieldLayer& layer = layers_.field_layer(number);
      const std::vector<std::size_t> shards = shards_left(layer);
      if (shards.empty()) continue;
      stage_layer([&](const std::string& staged) { return write_rest(layer, shards, staged, progress); });
    } else {
      const Layer layer = rest_of(number);
      if (layer.shards.empty()) continue;
      stage_layer([&](const std::string& staged) {
        const std::vector<std::byte> content = layer_bytes(layer);
        write_durably(staged, content);
        return describe_layer(layer, content);
      });
    }
  }
}

Layer RemainingLayers::rest_of(std::size_t number) const {
  const std::string& path = layers_.paths()[number];
  Layer layer = parse_layer(read_file(path), path);
  std::erase_if(layer.shards, [&](const Layer::OfShard& of) { return is_written(of.shard); });
  return layer;
}

std::vector<std::size_t> RemainingLayers::shards_left(const FieldLayer& layer) const {
  std::vector<std::size_t> left;
  for (std::size_t number = 0; number < layer.shards().size(); ++number) {
    if (!is_written(layer.shards()[number].shard)) left.push_back(number);
  }
  return left;
}

/// Values are compared with their checksums, which the new file would otherwise make right.
ManifestLayer RemainingLayers::write_rest(const FieldLayer& layer, const std::vector<std::size_t>& shards,
                                          const std::string& staged, Progress& progress) const {
  std::vector<FieldLayerWriter::OfShard> left;
  for (const std::size_t shard : shards) {
    left.push_back({.shard = layer.shards()[shard].shard});
    for (const FieldLayerRow& row : layer.rows(shard)) left.back().rows.push_back(row.row);
  }
  FieldLayerWriter writer(staged, layer.field(), layer.prefix(), std::move(left));
  std::vector<std::byte> value;
  for (const std::size_t shard : shards) {
    std::uint64_t at = layer.values_at(shard);
    for (const FieldLayerRow& row : layer.rows(shard)) {
      progress.throw_if_stopped();
      value.resize(layer.prefix().size() + row.bytes);
      layer.read(at, value);
      if (crc32c(value) != row.crc32c) {
        throw Error(ErrorCode::damaged, "checksum of a value does not match",
                    {.path = layer.path(), .offset = at, .hint = "`bale verify` names its sample"});
      }
      writer.add(Bytes(value).subspan(layer.prefix().size()));
      at += row.bytes;
    }
  }
  return writer.finish();
}

}  // namespace bale
