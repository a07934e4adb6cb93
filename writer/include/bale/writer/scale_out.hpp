// Packing on many machines: plan_pack() freezes what pack() would write in a file, pack_part() packs some of its
// shards, and merge_parts() publishes the manifests when all shards are there. The result is byte for byte what pack()
// writes.
//
// A part is idempotent: parts may run in any order, several times, at the same time, on machines that share the source,
// the destination and the plan file. They need no locks and no hard links, only renames. A shard that is finished is
// compared with its digest and not written again.
//
// Memory: of plan_pack() that of the source, of a part some hundred bytes per shard of the plan, and per sample of the
// shards that it is writing. Threads: all functions may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/writer/packer.hpp"

namespace bale {

/// What plan_pack() wrote.
struct PlanReport {
  std::string digest;  // of the plan, 32 hexadecimal digits
  std::uint64_t num_samples = 0;
  std::uint64_t num_bytes = 0;  // of the fields, as the source describes them
  std::uint64_t num_shards = 0;
};

/// Writes the plan of pack(source, options) to the new file `path`. DestinationMode must be `fresh`. Throws what
/// preview_pack() throws; `exists` if `path` exists or the destination is not empty; `unsupported` if the source cannot
/// be planned; `invalid_argument` for OnError::quarantine; `io`.
PlanReport plan_pack(const Source& source, const PackOptions& options, const std::string& path);

/// What plan_pack() would plan. Throws what it throws, and writes nothing.
PackPreview preview_plan(const Source& source, const PackOptions& options, const std::string& path);

/// Shards of a plan, numbered from 0 over all its datasets.
struct PartChoice {
  /// Part `first` of `second`, counted from 0: a contiguous range, about 1/second of the shards.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> part{};
  /// Else these ranges, with both ends.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> shards{};
};

struct PartReport {
  std::string destination;
  bool is_merged = false;  // the datasets are published already
  std::uint64_t num_shards = 0;
  std::uint64_t num_resumed_shards = 0;  // found finished
  std::uint64_t num_samples = 0;         // packed, with those of the shards that were found
  std::uint64_t num_bytes = 0;           // of shard files
  std::vector<SkippedSample> skipped{};
};

/// Packs the chosen shards of the plan in file `plan` with `jobs` threads (0: two per core). Throws
///   `invalid_argument`  a choice of shards that do not exist, or paths that are relative to another directory
///   `exists`            the destination holds other files
///   `changed`           a file of the source changed or is gone since the plan was made
///   `retryable`         another attempt at the same shard wrote other bytes: pack the part again
///   `interrupted`, `damaged`, `io`, `unsupported` (another version of bale made the plan)
/// and with OnError::fail the error of the first bad sample. Shards that are finished stay; run it again to continue.
/// If the destination is an s3:// name, shards are built in `staging_directory` (PackOptions).
PartReport pack_part(const std::string& plan, const PartChoice& choice, unsigned jobs, Progress& progress,
                     const std::string& staging_directory = {});

/// The shards that pack_part() would pack. Looks at the destination and throws what pack_part() throws of it.
PackPreview preview_part(const std::string& plan, const PartChoice& choice);

struct MergeReport {
  /// The datasets; empty if shards are missing.
  std::optional<PackReport> datasets{};
  std::string destination;
  std::uint64_t num_shards = 0;
  std::uint64_t payload_bytes = 0;  // of all planned shards, packed or not, before compression
  std::vector<std::uint64_t> missing_shards{};
  /// How many parts there are, if all that ran were asked for as one of the same number; else 0.
  std::uint64_t num_parts = 0;
  std::vector<std::uint64_t> missing_parts{};  // if num_parts is not 0
};

/// Publishes the manifests of the plan if all its shards are packed, and removes what the parts kept. Reads records and
/// indexes, not shards. Changes nothing if shards are missing, and nothing if the datasets are published already.
/// `parts` is the number of parts, for MergeReport::missing_parts; 0: as the parts were asked for. Throws `damaged` if
/// all samples of a dataset were skipped, `interrupted`, and what opening a plan throws.
MergeReport merge_parts(const std::string& plan, std::uint64_t parts, unsigned jobs, Progress& progress);

}  // namespace bale
