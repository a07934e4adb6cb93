#include "bale/writer/publish/publisher.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/sidecars.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {
namespace {

std::string below(const PlannedDataset& dataset, const std::string& file) {
  return dataset.subdirectory.empty() ? file : join_path(dataset.subdirectory, file);
}

}  // namespace

std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard) {
  const Layout& layout = *options.format.layout;
  const std::string staged =
      Journal::staged_name(dataset.subdirectory + (shard.staged_as.empty() ? shard.file : shard.staged_as));
  const std::string path = below(dataset, shard.file);
  std::vector<Replacement::Move> moves;
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    moves.emplace_back(staged_sidecar(staged, sidecar), sidecar_path(path, layout, sidecar));
  }
  moves.emplace_back(index_path(staged), index_path(path));
  if (options.seek_points) moves.emplace_back(seek_point_path(staged), seek_point_path(path));
  moves.emplace_back(staged, path);
  return moves;
}

void Publisher::shard(const PlannedDataset& dataset, const PlannedShard& shard) {
  const std::vector<Replacement::Move> moves = moves_of_shard(options_, dataset, shard);
  if (is_staged()) {
    const std::lock_guard guard(mutex_);
    files_.insert(files_.end(), moves.begin(), moves.end());
    return;
  }
  for (const Replacement::Move& move : moves) publish(move);
}

Replacement::Move Publisher::stage(const PlannedDataset& dataset, const std::string& name,
                                   const std::string& text) const {
  // Staged with the journal's files, it is removed with them however the run ends.
  const Replacement::Move move{Journal::staged_name(prefix_ + dataset.subdirectory + name), below(dataset, name)};
  write_durably(join_path(partial_, move.first), as_bytes(text));
  return move;
}

void Publisher::publish(const Replacement::Move& move) const {
  publish_rename(join_path(partial_, move.first), join_path(options_.destination, move.second));
}

void Publisher::file(const PlannedDataset& dataset, const std::string& name, const std::string& text) {
  const Replacement::Move move = stage(dataset, name, text);
  if (!is_staged()) return publish(move);
  files_.push_back(move);
}

void Publisher::manifest(const PlannedDataset& dataset, const std::string& text) {
  const Replacement::Move move = stage(dataset, k_manifest_name, text);
  if (!is_staged()) return publish(move);
  manifests_.push_back(move);
}

std::vector<PackReport::Replaced> Publisher::finish() {
  if (!is_staged()) return {};
  PlannedReplacement planned = plan_replacement(options_, plan_, files_, manifests_);
  journal_->record(planned.replacement);
  journal_->finish_replacement();
  return std::move(planned.replaced);
}

}  // namespace bale
