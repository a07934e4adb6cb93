// ObjectRunStore: an object store as the place of a run (ObjectDestination). Shards are built in a local staging
// directory, as many as there are jobs, and then uploaded.
//
// A manifest is stored only if there is none (If-None-Match), after all else was seen to be as the run stored it. So of
// two runs one publishes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/run/objects/object_destination.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"

namespace bale {

class ObjectRunStore final : public PartStore {
 public:
  /// For a pack. Lists the destination. The arguments must outlive this object.
  ObjectRunStore(const PackOptions& options, const Plan& plan, const Progress& progress);
  /// For parts of a plan file, or for their merge. `parts`: how many there are, if begin() is to note it; else 0.
  ObjectRunStore(const PackOptions& options, const PlanFile& plan, std::uint64_t parts, const Progress& progress);

  std::vector<Manifest> manifests() override;
  std::vector<Manifest> begin(const std::vector<Slot>& slots) override;
  void abandon(const Error* error) override;
  ShardRecords records(const WantedShards& wanted) override;
  bool is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) override;
  void forget(const std::string& record) override { destination_.store().remove(record); }
  /// An error of the local disk names the staging directory.
  FinishedShard write(Slot& slot, const WriteShard& write) override;
  std::string publish(const Slot& slot, const FinishedShard& finished) override;
  bool has_file(const PlannedDataset& dataset, const std::string& name) const override;
  std::string text_of(const PlannedDataset& dataset, const std::string& name) override;
  /// Uploads it at once: no version names it before the manifest does.
  void stage_file(const WriteFile& write) override;
  void publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) override;
  void publish_manifest(const PlannedDataset& dataset, const std::string& text) override;
  /// Throws `exists` if another program has published a dataset, and `changed` if another run took the place of this
  /// one.
  std::vector<PackReport::Replaced> finish(const FinishedShards& finished) override;
  void clear() override {
    destination_.clear();
    StagingDirectory::remove_stale(options_.staging_directory);
  }
  void begin_merge() override;
  void refresh() override { destination_.list(); }
  std::vector<std::uint64_t> noted_parts() override { return destination_.noted_parts(); }
  void remove_staged(const std::vector<Slot>&) override {}  // the directory goes with the process

 private:
  void begin_pack();
  void join(const std::vector<Slot>& slots);
  bool is_published(const Slot& slot, const ManifestShard& shard, CheckDepth depth) const;
  bool is_base_kept_by(const std::string& name) const;
  void withdraw() const;
  void with_base(const std::function<void()>& call);
  const std::string& staging();

  const PackOptions& options_;
  const Plan& plan_;
  const std::uint64_t parts_ = 0;
  const Progress& progress_;
  ObjectDestination destination_;
  std::once_flag staging_once_;
  std::optional<StagingDirectory> staging_;
  std::vector<Manifest> published_;  // before the run, which mends them
  std::vector<PackReport::Replaced> replaced_;
  bool is_replacing_ = false;
  bool resumes_ = false;
  std::vector<std::pair<std::string, std::string>> manifests_;  // names and texts
  ManifestFile base_;                                           // of Plan::base
  std::map<std::string, std::string> before_;                   // texts of files that it has replaced
  ObjectRest rest_;                                             // of Plan::rewritten
  std::size_t num_staged_ = 0;                                  // files other than shards
};

}  // namespace bale
