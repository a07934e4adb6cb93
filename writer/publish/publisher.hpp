// Gives the files of a run their final names: each as soon as it is complete and durable, or, if the run replaces an
// older dataset, all of them at the end.
//
// Threads: shard() may be called by many threads at once.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/destination.hpp"

namespace bale {

/// Temporary and final names of all files of a shard: sidecars, index, seek points and, last, the shard itself. When
/// the shard has its final name, all its files have theirs.
std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard);

/// Where the files of a dataset that no shard has are published.
class ManifestPublisher {
 public:
  virtual ~ManifestPublisher() = default;
  /// Publishes a file next to the shards of a dataset.
  virtual void file(const PlannedDataset& dataset, const std::string& name, const std::string& text) = 0;
  /// Publishes the dataset's manifest. Call it after all other files of the dataset are published.
  virtual void manifest(const PlannedDataset& dataset, const std::string& text) = 0;
  /// Replaces older datasets by the new ones and returns the replaced ones. Call it after all manifests.
  virtual std::vector<PackReport::Replaced> finish() = 0;
};

class Publisher final : public ManifestPublisher {
 public:
  Publisher(Journal& journal, const PackOptions& options, const Plan& plan)
      : journal_(&journal), options_(options), plan_(plan), partial_(journal.path_of({})) {}
  /// For shards that are published already, without a journal. Temporary names begin with `prefix`, in `partial`.
  Publisher(const PackOptions& options, const Plan& plan, std::string partial, std::string prefix)
      : options_(options), plan_(plan), partial_(std::move(partial)), prefix_(std::move(prefix)) {}

  /// Publishes a shard that is recorded and complete under its temporary names.
  void shard(const PlannedDataset& dataset, const PlannedShard& shard);
  void file(const PlannedDataset& dataset, const std::string& name, const std::string& text) override;
  void manifest(const PlannedDataset& dataset, const std::string& text) override;
  std::vector<PackReport::Replaced> finish() override;

 private:
  Replacement::Move stage(const PlannedDataset& dataset, const std::string& name, const std::string& text) const;
  void publish(const Replacement::Move& move) const;

  bool is_staged() const { return journal_ != nullptr && journal_->content().staged; }

  Journal* journal_ = nullptr;
  const PackOptions& options_;
  const Plan& plan_;
  std::string partial_;  // directory of the temporary files
  std::string prefix_;
  std::mutex mutex_;
  std::vector<Replacement::Move> files_;  // of a staged run
  std::vector<Replacement::Move> manifests_;
};

}  // namespace bale
