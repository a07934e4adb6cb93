// The destination directory: what it may contain before a run, and what a run removes.
// A run deletes only files that bale wrote: those named by a journal, or by a manifest in a directory that the run
// writes to.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

/// The manifests of a finished run of this plan, one per planned dataset; empty if one is missing or of another plan.
std::vector<Manifest> finished_manifests(const PackOptions& options, const Plan& plan);

/// Throws what a run throws because of what its destination holds and may be done there, before it changes anything. It
/// changes nothing itself. Says in PackOptions::on_warning what will stay next to the run's datasets.
void require_may_run(const PackOptions& options, const Plan& plan, const ListSamples& samples);

/// The same for a destination that was found, or that must be, without an unfinished run.
void require_may_begin(const PackOptions& options, const Plan& plan, const ListSamples& samples);

/// A destination that is locked and has a journal of this run.
struct Destination {
  Journal journal;
  std::vector<Manifest> finished{};  // of this plan; their files are checked, and written only if they are missing
};

/// Throws what writing a shard will throw if the format rejects its options. Leaves no file in `directory`.
void try_format_options(const PackOptions& options, const std::string& directory);

/// Prepares the destination for the mode. An older dataset in the same directory is left unchanged; the journal is then
/// staged. Throws `exists` if other files are in the way, `retryable` if another run holds the destination.
Destination prepare_destination(const PackOptions& options, const Plan& plan, const ListSamples& samples);

/// The error of a run that changes version `base` of a dataset whose version is another one now.
Error other_version_published(const std::string& directory, const Manifest& current, const std::string& base);

/// The error of a run that has begun: with how it continues, if it was stopped or lacked room.
Error resumable(const Error& error, DestinationMode mode);

/// Whether the run leaves what it keeps for one that resumes it, though it recorded nothing: if it was stopped, or
/// lacked room, while an older dataset is in its place. Only with the run's journal can it be resumed then.
bool stays_resumable(const Journal& journal, const Error& error);

struct PlannedReplacement {
  Replacement replacement;
  std::vector<PackReport::Replaced> replaced;
};

/// The steps that remove the older datasets and give the new files their final names. Throws `exists` if a file that
/// bale did not write is in the way.
PlannedReplacement plan_replacement(const PackOptions& options, const Plan& plan,
                                    const std::vector<Replacement::Move>& files,
                                    const std::vector<Replacement::Move>& manifests);

/// Cleans up after a run that published nothing: removes its journal, and its directories if they are empty.
void abandon_destination(Journal& journal, const PackOptions& options, const Plan& plan);

}  // namespace bale
