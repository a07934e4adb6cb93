// The plan: which sample goes into which shard, as a pure function of the source and the options.
// The destination is not accessed. Jobs, error policy and resuming do not affect the plan.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan_facts.hpp"

namespace bale {

struct PlannedShard {
  std::string file;         // name within its dataset's directory
  std::uint64_t begin = 0;  // range of PlannedDataset::order
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;  // payload
  std::string staged_as{};  // another name until the final one is known; empty: `file`
};

struct PlannedDataset {
  std::string name;                  // also the shards' prefix
  std::string subdirectory;          // below the destination; empty without splits
  std::vector<std::uint32_t> order;  // source samples in packing order; empty: all, in the source's order
  std::vector<PlannedShard> shards;

  std::uint32_t sample(std::uint64_t at) const { return order.empty() ? static_cast<std::uint32_t>(at) : order[at]; }
};

/// The version of a dataset that becomes another one.
struct BaseVersion {
  Manifest manifest;
  std::string id;
};

/// GoneVersion::why of a version that has samples which were removed on purpose.
std::string purged_by(std::string_view id);

/// Of a run that writes shards of a version again: what becomes of those that are there.
struct RewrittenShards {
  std::set<std::size_t> replaced;                            // by number in the base
  std::vector<std::size_t> places;                           // per planned shard: in place of which shard it comes
  std::vector<std::pair<std::string, std::string>> moved{};  // files with their new paths, when it is published
  std::vector<std::string> removed{};                        // files that go then
  std::vector<GoneVersion> gone{};                           // versions that go
};

/// A file next to the shards that is published before the manifest, which names it by its content.
struct NewFile {
  std::string name;  // below the dataset's directory
  std::string text;
};

struct Plan {
  std::vector<PlannedDataset> datasets;
  std::uint64_t num_samples = 0;
  std::uint64_t num_bytes = 0;  // payload
  /// Hash of everything that determines the output bytes. A resumed run must have the same one.
  std::string fingerprint;
  PlanFacts facts{};  // what the fingerprint is made of, other than the samples
  /// The samples become known only while the shards are written, and so do the shards (bale::Writer).
  bool open = false;
  /// The parts of Writers that are merged may lie in the destination.
  bool beside_parts = false;
  /// The shards become a new version of the dataset in the destination, after this one; null: they are a dataset of
  /// their own.
  std::shared_ptr<const BaseVersion> base{};
  std::uint64_t next_shard = 0;                // Manifest::next_shard, if there is a base
  std::vector<NewFile> files{};                // of the only dataset
  std::optional<RewrittenShards> rewritten{};  // none: the shards continue those of `base`
};

/// What the manifest says that no shard knows.
struct ManifestFacts {
  const std::vector<std::string>& classes;
  std::map<std::string, std::string> earlier_edits{};  // of the images, before this run
  KeyForm keys = KeyForm::plain;
  std::vector<SourceLoss> losses{};
  std::vector<SkippedSample> skipped{};  // by earlier runs
  std::vector<ManifestRemovals> removals{};
  std::function<void(Manifest& manifest)> change{};  // of the samples of Plan::base
};

/// Throws `invalid_argument` for contradictory options, an empty source or split, and duplicate keys (the message names
/// both samples).
Plan make_plan(const Source& source, const PackOptions& options);
/// The plan of adding the samples to `base`: shards get the next numbers. Throws the same.
Plan make_plan(const Source& source, const PackOptions& options, std::shared_ptr<const BaseVersion> base);

/// The number of the next shard of a version, above those of all shards of all versions in the destination. Throws
/// `invalid_argument` if its shards are not named as bale names them.
std::uint64_t next_shard_number(const PackOptions& options, const Manifest& manifest);

/// Calls `visit` for the samples of a plan. Borrows both until it is called.
ListSamples samples_of(const Source& source, const Plan& plan);

/// Warns (PackOptions::on_warning) if so little goes into a shard that most have one sample.
void note_sizing(const PackOptions& options, const Plan& plan);

/// The plan of a Writer: one dataset without samples and shards. Its fingerprint is that of the options alone. Throws
/// `invalid_argument` for contradictory options, and for those that need all samples beforehand.
Plan make_open_plan(const PackOptions& options, const std::vector<std::string>& classes);

/// The name of the options' dataset. Throws `invalid_argument` if it cannot name files.
std::string dataset_name(const PackOptions& options);

/// What determines the output bytes, other than the samples, as text. `kind` distinguishes kinds of plans.
std::string fingerprint_of_options(std::string_view kind, const PackOptions& options,
                                   const std::vector<std::string>& classes);

/// How a field is stored. Images are already compressed, and a class number stays readable by any tool.
Codec codec_of_field(const PackOptions& options, std::string_view field);

/// Throws `invalid_argument` if the layout has no room for a field of this name.
void require_room_for_field(const PackOptions& options, const std::string& field);

}  // namespace bale
