// VersionStage: the files of a version that is about to be published, if no shard is among them, or the versions that
// are about to be removed. New files are built under temporary names on a local disk, and get their names when all are
// complete, the manifest last. As RunStore, it is for a directory, which it locks, or for an object store: there the
// manifest is replaced only if it is still the one that the change began with (If-Match).
//
// In an object store a run that is killed or refused may leave files, which no version names.
//
// For one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal/dataset_switch.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"

namespace bale {

/// The current manifest of the dataset that a run is to change, not as a cache knows it. Throws `not_found` if there is
/// none, and what reading it throws.
ManifestFile read_current_manifest(const std::string& directory);

/// Throws `retryable` if it is not `base` any more.
void require_current(const std::string& directory, const ManifestFile& base);

/// Carries out what an interrupted run had decided, or removes what is left of one that had ended. Returns whether
/// there was one.
bool end_earlier_run(const std::string& directory);

/// Whether a dataset has an unfinished run of this verb (PlanFacts) and another plan.
bool has_other_run(const std::string& directory, const std::string& verb, const std::string& plan);

class VersionStage {
 public:
  /// All must outlive the result. Without `base` any version may be current. Throws `retryable` if another run is at
  /// work, or if the dataset's manifest is not `base` any more, `exists` if an unfinished run is there.
  static std::unique_ptr<VersionStage> begin(const std::string& directory, const ManifestFile* base,
                                             const Progress& progress);
  /// Removes what was not published.
  virtual ~VersionStage() = default;

  /// Where to build a file.
  virtual std::string path_of(const std::string& staged) const = 0;
  /// Gives the files their names, and returns when that is durable. Of `moves` files and manifests are used. To be
  /// called once. Throws `retryable` if another run published in the meantime.
  virtual void publish(const Replacement& moves) = 0;
  /// Removes versions and files, paths below the directory, in one step that an interruption does not divide. Manifests
  /// of the versions give way to what stays. To be called instead of publish(). Throws `retryable` as publish().
  virtual void remove(const std::vector<GoneVersion>& gone, std::vector<std::string> files) = 0;
};

}  // namespace bale
