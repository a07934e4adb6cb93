// The names of the files that a dataset consists of, on a disk or in an object store.
//
// Pure functions, safe in any thread.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

/// Directory of one planned dataset.
std::string dataset_directory(const PackOptions& options, const PlannedDataset& dataset);

/// A path relative to the destination.
std::string below_destination(const std::string& subdirectory, const std::string& file);

/// An older dataset in a directory that the run writes to.
struct OldDataset {
  std::string subdirectory;
  Manifest manifest;

  /// All its files except its manifest, relative to the destination.
  std::vector<std::string> files() const;
};

/// What a version that is replaced is kept as: its manifest `text`, or what it is kept as already, because only that
/// names the shards that the same content was in before.
std::string text_to_keep(const std::string& directory, const std::string& id, const std::string& text);

PackReport::Replaced report_of_replaced(const PackOptions& options, const OldDataset& old);

/// All files of a shard of a manifest: those that it names, its index, and seek points, which may be newer.
std::vector<std::string> files_of(const ManifestShard& shard);

/// All files that packing a shard to `file` publishes. Seek points are always included: old ones would be used for the
/// new shard.
std::vector<std::string> files_of_shard(const std::string& file, const PackOptions& options);

/// Files that list the shards, relative to the destination.
std::vector<std::string> list_files(const PackOptions& options, const Plan& plan);

// The files for other readers (Sidecar, ShardList) that a run writes.

/// The sidecars of every shard: those that are always written, and those with the given names.
std::vector<Sidecar> sidecars_of(const Layout& layout, const std::vector<std::string>& names);
/// The shard lists with the given names.
std::vector<ShardList> lists_of(const Layout& layout, const std::vector<std::string>& names);

/// Names of the files for other readers that all of these datasets have.
std::vector<std::string> sidecars_in_all(const std::vector<const Manifest*>& manifests, const Layout& layout);
/// Whether all their shards have seek points.
bool all_have_seek_points(const std::vector<const Manifest*>& manifests);

/// Throws `invalid_argument` if the layout does not have one of the names. The hint lists the names that it has.
void check_sidecars(const FormatAndLayout& format, const std::vector<std::string>& names);

/// Every name that any layout has, for help texts: "wds2idx, wids, ...".
std::string sidecar_choices();

}  // namespace bale
