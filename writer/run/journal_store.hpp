// JournalStore: a directory that one run has locked. Its journal has the records (journal.hpp).
//
// Shards get their final names as soon as they are recorded or, if the run replaces an older dataset, all at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

class JournalStore final : public RunStore {
 public:
  /// `samples` are those of the plan, to say what changed since an unfinished run; empty: unknown. All else must
  /// outlive this object.
  JournalStore(const PackOptions& options, const Plan& plan, ListSamples samples, const Progress& progress)
      : options_(options), plan_(plan), samples_(std::move(samples)), progress_(progress) {}

  std::vector<Manifest> manifests() override;
  std::vector<Manifest> begin(const std::vector<Slot>& slots) override;
  void abandon(const Error* error) override;
  ShardRecords records(const WantedShards& wanted) override;
  bool is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) override;
  void forget(const std::string&) override {}  // the last line of a shard counts
  FinishedShard write(Slot& slot, const WriteShard& write) override;
  std::string publish(const Slot& slot, const FinishedShard& finished) override;
  bool has_file(const PlannedDataset& dataset, const std::string& name) const override;
  std::string text_of(const PlannedDataset& dataset, const std::string& name) override;
  void publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) override;
  void stage_file(const WriteFile& write) override;
  void publish_manifest(const PlannedDataset& dataset, const std::string& text) override;
  std::vector<PackReport::Replaced> finish(const FinishedShards& finished) override;
  void clear() override;

  /// Precondition: the run has begun and not ended.
  Journal& journal() { return *journal_; }
  const Journal& journal() const { return *journal_; }
  bool is_staged() const { return journal_ && journal_->content().staged; }
  /// Gives the lock back. Nothing else may be called afterwards.
  void release() { journal_.reset(); }

 private:
  void require_same_policy(const FinishedShard& finished) const;
  bool has_quarantined_files(const Slot& slot, const FinishedShard& finished) const;
  void publish_text(const PlannedDataset& dataset, const std::string& name, const std::string& text,
                    std::vector<Replacement::Move>& staged);

  const PackOptions& options_;
  const Plan& plan_;
  const ListSamples samples_;
  const Progress& progress_;
  std::optional<Journal> journal_;
  std::vector<Replacement::Move> files_;  // of a staged run: lists, ledgers, layers
  std::vector<Replacement::Move> manifests_;
};

}  // namespace bale
