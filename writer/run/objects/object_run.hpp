// ObjectRun: what an unfinished run keeps in an object store: DESTINATION/.bale-partial/run.json.
//
// It is written before the first file of a dataset and removed after the manifest, so the objects of an unfinished run
// are known by it, and by the owner a run sees that another one took its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/writer/plan/plan_facts.hpp"

namespace bale {

struct ObjectRun {
  std::string plan{};                   // fingerprint of a pack, or digest of a plan file
  PlanFacts facts{};                    // of the plan; empty in a record of an earlier version
  std::string owner{};                  // made by each run that begins; the digest of a plan file
  bool is_parts = false;                // of a plan file
  std::vector<std::string> files{};     // that the run may write, relative to the destination
  std::vector<std::string> replaced{};  // of an older dataset, which the run removes

  friend bool operator==(const ObjectRun&, const ObjectRun&) = default;
};

std::string run_to_text(const ObjectRun& run);
/// Throws `damaged`, or `unsupported` if a newer version of bale wrote it. `path` is used in messages only.
ObjectRun run_from_text(std::string_view text, const std::string& path);

}  // namespace bale
