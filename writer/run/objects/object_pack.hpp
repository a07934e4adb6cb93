// Packing into an object store: what pack(), pack_part() and merge_parts() do if the destination is an s3:// name.
//
// Threads and errors: as those functions. Also `unsupported` for what object stores do not have.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/run/pack_run.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

/// Throws `invalid_argument` for options that need a directory, and if a source lies in the destination.
void require_object_options(const std::vector<std::string>& places, const PackOptions& options);

/// As run_pack(). Shards are built in PackOptions::staging_directory, as many as there are jobs, and then uploaded.
PackReport run_object_pack(const PackWork& work, const PackOptions& options, Progress& progress);

/// As require_may_run() of a directory.
void require_may_run_objects(const PackOptions& options, const Plan& plan);

/// Throws `exists` if the destination holds anything.
void require_empty_objects(const PackOptions& options, const Plan& plan);

/// Writes shard `number` of a plan under the temporary name `staged`.
using WritePlanned = std::function<FinishedShard(std::uint64_t number, const std::string& staged)>;

PartReport pack_object_part(const PlanFile& plan, const std::vector<std::uint64_t>& shards, std::uint64_t parts,
                            const PackOptions& options, const WritePlanned& write, Progress& progress);

/// Throws `exists` if pack_object_part() would. Changes nothing.
void require_may_join_objects(const PlanFile& plan);

MergeReport merge_object_parts(const PlanFile& plan, std::uint64_t parts, Progress& progress);

}  // namespace bale
