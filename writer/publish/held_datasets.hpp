// What a destination holds before a run, on a disk or in an object store, and whether a run may replace it: one rule
// for packs, plans, merges and Writers.
//
// Functions change nothing and are safe in any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

struct HeldDatasets {
  std::string destination;
  std::vector<std::string> names{};   // of its entries, without what unfinished runs keep
  std::vector<std::string> places{};  // of manifests: names of subdirectories, or "" for the destination itself
  std::function<Manifest(const std::string& place)> load{};
  std::function<std::vector<std::string>(const std::string& place)> replaced_versions{};  // ids of those that are kept

  bool has(const std::string& place) const;
};

/// Throws `exists` unless the destination is empty.
void require_empty(const Plan& plan, const HeldDatasets& held);

/// The datasets that a run which overwrites replaces. Throws `exists` for one of another name than the planned one,
/// whether that name was given or derived, for one that would stay in front of splits, and for one with earlier
/// versions, which could not be read any more.
std::vector<OldDataset> datasets_to_replace(const Plan& plan, const HeldDatasets& held);

/// Says which datasets stay below a dataset that is written next to them; empty if there are none.
std::string datasets_that_stay(const Plan& plan, const HeldDatasets& held);

}  // namespace bale
