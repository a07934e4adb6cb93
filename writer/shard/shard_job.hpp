// Writes one shard: read, check, write, index, make durable. One thread per job. Jobs share only the source, the
// quarantine and the progress counters.
#pragma once

#include <string>

#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/shard/quarantine.hpp"

namespace bale {

struct ShardJob {
  const Source& source;
  const PackOptions& options;
  const PlannedDataset& dataset;
  const PlannedShard& shard;
  Quarantine& quarantine;
  bool fixed_source = false;  // a sample that changed is an error, whatever the policy for bad samples
  std::string staged_path;    // temporary name of the shard; those of its index and seek points derive from it
};

/// Temporary name of a sidecar of the shard that is written to `staged_path`.
std::string staged_sidecar(const std::string& staged_path, const Sidecar& sidecar);

/// Writes the shard, its index, its seek points and its sidecars under their temporary names. All are durable when it
/// returns. None is written if every sample was skipped. On any error the temporary files are removed. Throws
/// `interrupted` soon after `progress.stop` is set.
FinishedShard write_shard(const ShardJob& job, Progress& progress);

}  // namespace bale
