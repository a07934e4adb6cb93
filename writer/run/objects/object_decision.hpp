// Whether a run may write to an object store, by what is there.
//
// Functions change nothing. Errors: `exists` if the run may not, and those of requests. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/run/objects/object_destination.hpp"

namespace bale {

/// Throws `invalid_argument` if a source is in the destination or the other way round, and for options that the
/// destination, a directory or an object store, does not have.
void require_apart(const std::vector<std::string>& places, const PackOptions& options);

/// What a run does with what it found.
struct ObjectDecision {
  std::vector<OldDataset> old{};     // replaced
  std::vector<std::string> known{};  // objects that are there, of these and of an unfinished run that is replaced
  bool resumes = false;              // the unfinished run
  std::string stay{};                // which datasets stay next to it; may be empty
};

/// The manifests of the plan's datasets, if a run resumes that had published them.
std::vector<Manifest> manifests_to_resume(const ObjectDestination& destination, const PackOptions& options,
                                          const Plan& plan);

/// What a run does that has nothing to mend. The destination has been listed. Throws if the run may not write there.
ObjectDecision decide(const ObjectDestination& destination, const PackOptions& options, const Plan& plan);

/// Throws if parts cannot join what is at the destination, which has been listed.
void require_may_join(const ObjectDestination& destination, const PackOptions& options, const Plan& plan);
void require_may_join_objects(const PlanFile& plan);

/// As require_may_run() of a directory.
void require_may_run_objects(const PackOptions& options, const Plan& plan);

/// Throws `exists` if the destination holds anything.
void require_empty_objects(const PackOptions& options, const Plan& plan);

}  // namespace bale
