// The lines of a journal and of the ledger (skipped.jsonl) as text, and back.
//
// Pure functions, safe in any thread. Those that read throw `damaged` for anything that those that write do not make.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal/dataset_switch.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan_facts.hpp"

namespace bale {

/// One shard, complete and durable under its temporary or its final name. A shard without samples has no file.
struct FinishedShard {
  std::string subdirectory;  // of its dataset, below the destination
  ManifestShard shard;
  std::vector<ManifestField> fields{};
  std::vector<SkippedSample> skipped{};
  std::string on_error{};       // name of the policy that skipped them; empty in a journal of an earlier version
  bool checked_images = false;  // all were decoded (PackOptions::check_images)
  std::map<std::string, std::uint64_t> undecodable{};  // images that the loader does not decode, by kind
  std::map<std::string, std::uint64_t> jpegs{};        // PackReport::jpegs
};

/// Content of a journal.
struct JournalContent {
  std::string plan{};  // empty: of a run that has nothing to continue until its replacement is recorded
  PlanFacts facts{};   // of the plan; empty in a journal of an earlier version
  bool staged = false;
  bool ends_later = false;  // of a head that is written: Replacement::moved_last or removed_last will not be empty
  std::vector<std::string> last_files{};  // relative to the destination; written after all shards
  std::vector<FinishedShard> finished{};
  std::optional<Replacement> replacement{};
  std::uint64_t good_bytes = 0;  // up to the end of the last complete line; 0: no run has begun

  /// Whether a run continues with DestinationMode::resume; else by itself, such as one that writes shards again.
  bool is_resumed_on_request() const { return !plan.empty() && !facts.contains("verb"); }
  /// Files, relative to the destination, that the run may have published or will publish in a recorded replacement.
  std::vector<std::string> published_files() const;
};

/// Reads complete lines up to the first incomplete or invalid one. Throws `unsupported` if a newer version of bale
/// wrote the journal.
JournalContent parse_journal(std::string_view text, const std::string& path);

/// The error of a run that another one is in the way of: how to continue or drop that.
Error unfinished_run(const std::string& destination, const JournalContent& unfinished);

/// The lines of a journal, without their ends. Of a head plan, facts, staged and last_files are used.
std::string head_line(const JournalContent& head);
std::string replacement_line(const Replacement& replacement);
std::string finished_to_text(const FinishedShard& finished);
FinishedShard finished_from_text(std::string_view line);

/// One skipped sample: a line of the ledger, or an entry in the line of its shard.
Json skipped_to_json(const SkippedSample& sample);
SkippedSample skipped_from_json(const Json& line);

}  // namespace bale
