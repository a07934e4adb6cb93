#include "bale/formats/base/file.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/where.hpp"

namespace bale {

void facts_of(const Dataset& dataset, std::size_t shard, std::uint64_t sample, std::uint64_t number, SampleFacts& out) {
  const IndexInUse held = dataset.use_index(shard);
  const ShardIndex& index = *held;
  out.key = index.key(sample);
  out.index = number;
  out.dataset = &dataset;
  out.shard_number = shard;
  out.sample = sample;
  out.label = dataset.label_in_shard(shard, sample);
  if (*out.label == k_no_label) out.label.reset();
  out.class_name.reset();
  const auto& classes = dataset.classes();
  if (out.label && *out.label >= 0 && static_cast<std::uint64_t>(*out.label) < classes.size()) {
    out.class_name = classes[static_cast<std::size_t>(*out.label)];
  }
  out.width.reset();
  out.height.reset();
  if (index.width(sample) != 0 && index.height(sample) != 0) {
    out.width = index.width(sample);
    out.height = index.height(sample);
  }
  out.bytes.reset();
  out.format.reset();
  if (const auto field = index.image_field(sample)) {
    out.format = index.fields()[*field].name;
    out.bytes = index.extent(sample, *field).length;
  }
  out.shard = base_name(dataset.shard_path(shard));
}

std::vector<std::uint64_t> select_samples(const Dataset& dataset, const Where& where, WhereCounts& counts) {
  if (where.needs_fields()) where.require_fields(dataset.fields());
  std::vector<std::uint64_t> selected;
  SampleFacts facts;
  std::uint64_t number = 0;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    const std::uint64_t size = dataset.shard_size(shard);
    for (std::uint64_t sample = 0; sample < size; ++sample, ++number) {
      if (!where.takes_all()) facts_of(dataset, shard, sample, number, facts);
      if (where.takes(facts, counts)) selected.push_back(number);
    }
  }
  return selected;
}

}  // namespace bale
