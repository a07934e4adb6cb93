#include "bale/writer/publish/run_store.hpp"

#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {

std::string RunStore::text_of(const PlannedDataset&, const std::string& name) {
  throw Error(ErrorCode::unsupported, "versions of a dataset are not made of parts", {.path = name});
}

void RunStore::stage_file(const WriteFile&) {
  throw Error(ErrorCode::unsupported, "versions of a dataset are not made of parts");
}

std::vector<Slot> slots_of(const Plan& plan) {
  std::vector<Slot> slots;
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const PlannedShard& shard : dataset.shards) {
      slots.push_back({.number = slots.size(), .dataset = &dataset, .shard = shard});
    }
  }
  return slots;
}

std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard) {
  const Layout& layout = *options.format.layout;
  const std::string staged =
      Journal::staged_name(dataset.subdirectory + (shard.staged_as.empty() ? shard.file : shard.staged_as));
  const std::string path = below_destination(dataset.subdirectory, shard.file);
  std::vector<Replacement::Move> moves;
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    moves.emplace_back(staged_sidecar(staged, sidecar), sidecar_path(path, layout, sidecar));
  }
  moves.emplace_back(index_path(staged), index_path(path));
  if (options.seek_points) moves.emplace_back(seek_point_path(staged), seek_point_path(path));
  moves.emplace_back(staged, path);
  return moves;
}

std::vector<Replacement::Move> moves_of(const PackOptions& options, const Slot& slot) {
  return moves_of_shard(options, *slot.dataset, slot.shard);
}

std::string final_path(const PackOptions& options, const Slot& slot) {
  return join_path(dataset_directory(options, *slot.dataset), slot.shard.file);
}

std::string record_stem(std::uint64_t number, const FinishedShard& finished) {
  const std::string& digest = finished.shard.digest;
  return fmt::format("{:07}.{}", number, digest.empty() ? "empty" : digest.substr(digest.find(':') + 1));
}

std::optional<std::uint64_t> leading_number(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = end == name.data() + name.size() || *end == '.';
  return error == std::errc{} && is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace bale
