// PartDirectory: what parts of a plan keep while they pack: DESTINATION/.bale-partial/plan-DIGEST. It has a record per
// finished shard, temporary files of running parts, and the numbers of parts that were asked for.
//
// There is no lock. A record is durable before its shard gets its final name, and is written by rename. Its name has
// the shard's number and digest: two attempts that wrote the same bytes make one record, others make two, which is
// noticed.
//
// Threads and processes: all methods may be called by many at once, also on several machines that share the directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

class PartDirectory final : public PartStore {
 public:
  /// Changes nothing. `parts`: how many there are, if begin() is to note it; else 0. `plan` and `options` must outlive
  /// this object.
  PartDirectory(const PlanFile& plan, const PackOptions& options, std::uint64_t parts = 0);
  /// Throws `exists` as begin() does. Changes nothing.
  static void require_may_begin(const PlanFile& plan);

  std::vector<Manifest> manifests() override;
  /// Creates the destination and the directory if they are missing. Throws `exists` if the destination holds anything
  /// else: other files, an unfinished pack, or parts of another plan.
  std::vector<Manifest> begin(const std::vector<Slot>& slots) override;
  ShardRecords records(const WantedShards& wanted) override;
  bool is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) override;
  void forget(const std::string& record) override;
  /// The temporary names are of this attempt alone.
  FinishedShard write(Slot& slot, const WriteShard& write) override;
  std::string publish(const Slot& slot, const FinishedShard& finished) override;
  std::optional<FinishedShard> made_by_another(const Slot& slot) override;
  bool has_file(const PlannedDataset& dataset, const std::string& name) const override;
  void publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) override;
  void publish_manifest(const PlannedDataset& dataset, const std::string& text) override;
  std::vector<PackReport::Replaced> finish(const FinishedShards& finished) override;
  /// Deletes the directory, if it is there, and the partial directory if nothing else is in that. What another process
  /// deletes in the meantime is not an error.
  void clear() override;
  void begin_merge() override {}
  void refresh() override {}
  std::vector<std::uint64_t> noted_parts() override;
  void remove_staged(const std::vector<Slot>& slots) override;

 private:
  std::string path_of(const std::string& name) const { return join_path(path_, name); }
  void note_parts() const;

  const PlanFile& plan_;
  const PackOptions& options_;
  const std::uint64_t parts_;
  const std::string path_;
};

}  // namespace bale
