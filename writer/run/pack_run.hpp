// The run of a pack: prepares the destination, adopts what an earlier run finished, has the missing shards written on
// threads, and publishes shards and manifests. It does not know what the shards are made from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/dataset_manifest.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {

struct PackWork {
  Plan plan;
  std::vector<std::string> places;  // that the run reads from; the destination must lie apart from them
  ManifestFacts facts;
  ListSamples samples{};                         // to say what changed since an unfinished run; empty: unknown
  WriteShard write;                              // called by many threads at once
  std::function<void(RunStore& store)> stage{};  // files other than shards, before them
};

/// Runs it and returns when everything is durable. Throws what pack() throws once its plan is made.
PackReport pack_planned(const PackWork& work, const PackOptions& options, Progress& progress);

/// What else the version that a run makes changes in the one before, besides its new shards.
struct VersionChange {
  std::function<void(RunStore& store)> stage{};     // has its files written
  std::function<void(Manifest& manifest)> apply{};  // whose shards begin with those of the version before
};
/// The same of the samples of a source.
PackReport pack_source(const Source& source, Plan plan, const PackOptions& options, Progress& progress,
                       const VersionChange& change = {});

/// The shards of a plan. What becomes of the bytes of a sample is measured by some of them.
PackPreview preview_of(const Source& source, const PackOptions& options, const Plan& plan);

}  // namespace bale
