#include "bale/formats/registry/salvage.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/current_index.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale {
namespace {

std::vector<bool> fields_of(const ShardIndex& index, std::uint64_t sample) {
  std::vector<bool> present;
  for (std::uint32_t f = 0; f < index.fields().size(); ++f) present.push_back(index.extent(sample, f).present());
  return present;
}

/// Whether each sample's bytes come after those of the sample before it, so that only the last one can be incomplete.
bool is_in_order(const ShardIndex& index) {
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    std::uint64_t next_end = end;
    for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
      const Extent extent = index.extent(i, f);
      if (!extent.present()) continue;
      if (extent.offset < end) return false;
      // The length of a field that is made is not that of its bytes in the file.
      next_end = std::max(next_end, extent.offset + (index.fields()[f].located ? extent.length : 0));
    }
    end = next_end;
  }
  return true;
}

/// For each sample, whether it cannot lack a field that came after the damage.
std::vector<bool> complete_samples(const ShardIndex& index) {
  std::vector<bool> complete(index.size(), true);
  if (is_in_order(index)) {
    const std::uint64_t last = index.size() - 1;
    complete[last] = last > 0 && fields_of(index, last) == fields_of(index, last - 1);
    return complete;
  }
  const std::vector<bool> all(index.fields().size(), true);
  for (std::uint64_t i = 0; i < index.size(); ++i) complete[i] = fields_of(index, i) == all;
  return complete;
}

ShardIndex only(const ShardIndex& index, const std::vector<bool>& wanted, const std::string& path) {
  IndexBuilder builder;
  for (const FieldInfo& field : index.fields()) builder.add_field(field.name, field.codec, field.located);
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    if (!wanted[i]) continue;
    const std::uint64_t sample = builder.add_sample(index.key(i), index.label(i), index.width(i), index.height(i));
    for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
      const Extent extent = index.extent(i, f);
      if (extent.present()) builder.set_extent(sample, f, extent.offset, extent.length);
    }
  }
  ShardIndex chosen = ShardIndex::from_bytes(builder.build(index.shard_bytes(), std::nullopt, false, path), path);
  chosen.set_notices(index.notices());
  return chosen;
}

SalvagedShard take_found(const std::string& path, const Format& format, const PartialScan& damage,
                         const ShardOpenOptions& options) {
  if (damage.found().size() == 0) throw Error(damage);
  ShardIndex index =
      ShardIndex::from_bytes(damage.found().build(File::open_read(path).size(), std::nullopt, false, path), path);
  index.set_notices(damage.found().notices());
  const std::vector<bool> complete = complete_samples(index);
  const auto num_complete = static_cast<std::uint64_t>(std::count(complete.begin(), complete.end(), true));
  if (num_complete == 0) throw Error(damage);
  std::string loss = damage.message();
  if (damage.context().offset) loss += fmt::format(" (offset {})", *damage.context().offset);
  if (num_complete < index.size()) index = only(index, complete, path);
  return {.shard = Shard::open(path, format, std::move(index), options),
          .loss = fmt::format("{}; {} samples before it are taken, what follows is lost", loss, num_complete),
          .num_lost = std::nullopt};
}

SalvagedShard salvage_unindexed(const std::string& path, const Format& format, const ShardOpenOptions& options) {
  try {
    return {.shard = Shard::open(path, format, amended_index(scan_shard(path, format), path, options), options)};
  } catch (const PartialScan& damage) {
    if (options.layers && options.layers->of(options.digest) != nullptr) {
      throw Error(ErrorCode::damaged, "which of its samples were removed or got other labels is not known anymore",
                  {.path = path, .hint = "copy its index again"});
    }
    return take_found(path, format, damage, options);
  }
}

}  // namespace

SalvagedShard salvage_shard(const std::string& path, const Format* format, const ShardOpenOptions& options) {
  const Format& known = format != nullptr ? *format : probe_format(path);
  const std::string beside = index_path(path);
  if (!path_exists(beside)) return salvage_unindexed(path, known, options);
  ShardIndex index = ShardIndex::load(beside);
  const std::uint64_t file_bytes = File::open_read(path).size();
  std::string loss;
  if (file_bytes != index.shard_bytes()) {
    loss = fmt::format("file has {} bytes, its index says {}; samples that are whole are taken", file_bytes,
                       index.shard_bytes());
  } else if (options.check_stale) {
    index.set_notices(check_index_is_current(path, known, index));
  }
  index = amended_index(std::move(index), path, options);
  ShardOpenOptions any_size = options;
  // Only checksums show which samples are intact.
  any_size.check_size = !(options.verify_checksums && index.has_checksums());
  return {.shard = Shard::open(path, known, std::move(index), any_size), .loss = std::move(loss)};
}

}  // namespace bale
