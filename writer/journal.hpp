// The journal of an unfinished run: DESTINATION/.bale-partial/journal.jsonl, a line a shard.
//
// A shard's line is durable before the shard gets its final name, so that every published file of an
// unfinished run can be told from a stranger's. A torn last line (power loss) is ignored. The directory
// is locked while a run works on it.
//
// Threads: record() may be called by many threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bale/formats/core/file.hpp"
#include "bale/formats/core/manifest.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// One shard, complete and durable under its temporary or its final name.
struct FinishedShard {
  std::string subdirectory;  // of its dataset, below the destination
  ManifestShard shard;
  std::vector<ManifestField> fields{};
  std::vector<SkippedSample> skipped{};
  std::string on_error{};  // name of the policy that skipped them; empty in a journal of an earlier version
};

class Journal {
 public:
  /// Starts a journal in an existing destination that has none. `last_files` (relative to the destination) are those
  /// that come when all shards are there. Throws `retryable` where another run holds it.
  static Journal start(const std::string& destination, const std::string& plan_fingerprint,
                       const std::vector<std::string>& last_files);
  /// Takes up the journal that is there. Throws `exists` where it belongs to another plan.
  static Journal resume(const std::string& destination, const std::string& plan_fingerprint,
                        const std::vector<std::string>& last_files);
  /// Holds the lock of an unfinished run's journal while its files are removed; throws `retryable` where
  /// another run is at work. Not open where there is no journal.
  static File lock_unfinished(const std::string& destination);
  /// Whether the destination holds an unfinished run.
  static bool present(const std::string& destination);
  /// Files (relative to the destination) that an unfinished run may have published; for cleaning up.
  static std::vector<std::string> published_files(const std::string& destination);
  /// Deletes the journal and all temporary files of a run; nothing else, and nothing that is not ours.
  static void remove(const std::string& destination);

  const std::vector<FinishedShard>& finished() const { return finished_; }
  void record(const FinishedShard& shard);
  /// Temporary name for a file of the run.
  std::string staged_path(const std::string& file) const;

 private:
  explicit Journal(std::string directory);

  std::string directory_;
  File file_;
  std::uint64_t end_ = 0;
  std::vector<FinishedShard> finished_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace bale
