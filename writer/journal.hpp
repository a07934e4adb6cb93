// The journal of an unfinished run: DESTINATION/.bale-partial/journal.jsonl, a head line and a line per shard.
//
// A shard's line is durable before the shard gets its final name, so that every published file of an
// unfinished run can be told from a stranger's. A torn last line (power loss) is ignored. The directory
// is locked while a run works on it.
//
// A run that replaces an older dataset is staged: its shards keep their temporary names until all are there. Then one
// line says what is removed and what takes its place (Replacement).
//
// Threads: record() may be called by many threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/directory.hpp"
#include "bale/writer/directory_lock.hpp"
#include "bale/writer/journal_file.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/replacement.hpp"

namespace bale {

/// What the partial directory is called while it is removed.
inline constexpr const char* k_removed_name = ".bale-removed";

/// One shard, complete and durable under its temporary or its final name. Without samples it has no file.
struct FinishedShard {
  std::string subdirectory;  // of its dataset, below the destination
  ManifestShard shard;
  std::vector<ManifestField> fields{};
  std::vector<SkippedSample> skipped{};
  std::string on_error{};  // name of the policy that skipped them; empty in a journal of an earlier version
  std::map<std::string, std::uint64_t> undecodable{};  // images that the loader does not decode, by kind
};

/// What a journal says.
struct JournalContent {
  std::string plan{};
  bool staged = false;
  std::vector<std::string> last_files{};  // relative to the destination: those that come when all shards are there
  std::vector<FinishedShard> finished{};
  std::optional<Replacement> replacement{};
  std::uint64_t good_bytes = 0;  // up to the end of the last whole line; 0: no run has begun

  /// Files, relative to the destination, that the run may have published.
  std::vector<std::string> published_files() const;
};

/// Reads whole lines; the first one that is torn or not ours ends the journal. Throws `unsupported` if a newer bale
/// wrote it.
JournalContent parse_journal(std::string_view text, const std::string& path);

class Journal {
 public:
  /// Whether the destination holds an unfinished run, or one that is at work.
  static bool present(const std::string& destination);
  /// Removes what is left of a run that was killed while it removed its journal.
  static void clear_removed(const std::string& destination);
  /// Takes the destination, which is made if it is missing, for this run alone: locks its journal, an empty one if
  /// there was none, and reads it. Throws `retryable` if another run holds it.
  static Journal open(const std::string& destination);

  const JournalContent& content() const { return content_; }
  /// Whether a run has begun that did not end.
  bool is_unfinished() const { return content_.good_bytes != 0; }
  /// Whether a shard was recorded, by this run or the one that it goes on with.
  bool has_recorded() const { return has_recorded_; }

  /// Begins a run; what the journal said is forgotten, and temporary files of an earlier run are removed.
  void begin(const std::string& plan, const std::vector<std::string>& last_files, bool staged);
  /// Goes on with the run that is there.
  void go_on();
  void record(const FinishedShard& shard);
  void record(const Replacement& replacement);
  /// Carries out the replacement that is recorded; no run has begun after that.
  void finish_replacement();

  /// Temporary name for a file of the run, within the partial directory.
  static std::string staged_name(const std::string& file);
  std::string staged_path(const std::string& file) const { return path_of(staged_name(file)); }
  /// Path of a file in the partial directory.
  std::string path_of(const std::string& name) const { return join_path(partial_.path(), name); }
  const Directory& destination() const { return destination_; }

  /// Deletes the journal and all temporary files of a run; nothing else, and nothing that is not ours.
  void remove();

 private:
  Journal(Directory destination, Directory partial, JournalFile file, DirectoryLock lock);
  static std::optional<Journal> try_open(const std::string& destination);
  void append(const std::string& line);
  void empty();

  Directory destination_;
  Directory partial_;
  JournalFile file_;
  DirectoryLock lock_;
  JournalContent content_;
  std::uint64_t end_ = 0;
  bool has_recorded_ = false;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace bale
