#include "bale/reader/dataset_summary.hpp"

#include <algorithm>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {
namespace {

void add_fields(const ShardIndex& index, std::vector<DatasetSummary::Field>& fields) {
  for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
    const FieldInfo& info = index.fields()[f];
    const std::string codec(name_of(info.codec));
    auto known = std::find_if(fields.begin(), fields.end(), [&](const DatasetSummary::Field& field) {
      return field.name == info.name && field.codec == codec;
    });
    if (known == fields.end()) known = fields.insert(known, {.name = info.name, .codec = codec});
    known->stored_bytes += info.stored_bytes;
    known->num_samples += info.num_samples;
  }
}

}  // namespace

DatasetSummary summarize_dataset(const std::string& spec) {
  const Dataset dataset = Dataset::open(spec, {.relative_names = true});
  DatasetSummary summary{.spec = spec,
                         .version = dataset.version(),
                         .num_samples = dataset.size(),
                         .images = image_conditions(dataset, 0),
                         .classes = dataset.classes(),
                         .notices = dataset.notices()};
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    const std::string& path = dataset.shard_path(number);
    if (number == 0) summary.format = dataset.shard(number)->format().name;
    const auto digest = index.digest();
    summary.shards.push_back({.path = path,
                              .num_samples = index.size(),
                              .bytes = index.shard_bytes(),
                              .indexed = path_exists(index_path(path)),
                              .has_checksums = index.has_checksums(),
                              .has_seek_points = path_exists(find_seek_points(path)),
                              .digest = digest ? digest_text(*digest) : std::string{}});
    summary.num_bytes += index.shard_bytes();
    add_fields(index, summary.fields);
  }
  summary.edits = dataset.edits();
  if (const auto& manifest = dataset.manifest()) {
    summary.has_manifest = true;
    summary.name = manifest->name;
    summary.created_by = manifest->created_by;
    summary.plan = manifest->plan;
    summary.num_skipped = manifest->num_skipped;
    const auto layers = dataset.num_shards() == 0 ? nullptr : dataset.layers(0);
    for (const ManifestShard& shard : manifest->shards) {
      summary.num_removed += shard.num_removed;
      const ShardAmendments* const amendments = layers ? layers->of(shard.digest) : nullptr;
      if (amendments != nullptr) summary.num_labels += amendments->labels.size();
    }
    for (const ManifestLayer& layer : manifest->layers) {
      auto& names = summary.layer_fields;
      const std::optional<std::string> field = field_of_layer(layer);
      if (field && std::find(names.begin(), names.end(), *field) == names.end()) names.push_back(*field);
    }
    summary.format = manifest->format;
    summary.layout = manifest->layout;
  }
  return summary;
}

}  // namespace bale
