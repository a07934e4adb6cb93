// MergeRequest: what a user asks of `bale merge` and Python's merge(), as plain values.
//
// Threads: all functions may be called by many threads at once.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

struct MergeRequest {
  std::vector<std::string> sources{};  // a plan, a directory with parts of Writers, or with `output` packed datasets
  std::string output{};
  std::string name{};
  bool link = false;
  bool allow_removed = false;
  DestinationMode mode = DestinationMode::fresh;  // of `output`
  std::uint64_t parts = 0;                        // 0: as the parts were asked for
  unsigned jobs = 0;

  const std::string& place() const { return output.empty() ? sources.front() : output; }
};

/// The options of `bale merge`, and of Python's merge().
void add_merge_options(OptionTable& table, MergeRequest& request);

struct MergeOutcome {
  MergeReport report{};
  std::vector<std::string> warnings{};
  double seconds = 0;
};

/// merge_datasets(), merge_writer_parts() or merge_parts(), as the request says. Throws what they throw; if it was
/// stopped or the disk is full, with how it continues.
MergeOutcome merge(const MergeRequest& request, const RunNotes& notes, Progress& progress);

/// Throws `retryable` if shards or parts are missing, and names them.
void require_complete(const MergeReport& report);

/// What a complete merge made, as of a pack.
PackOutcome packed_of(const MergeOutcome& merged);

}  // namespace bale
