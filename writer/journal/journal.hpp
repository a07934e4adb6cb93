// The journal of an unfinished run: DESTINATION/.bale-partial/journal.jsonl, one head line and one line per shard.
//
// A shard's line is durable before the shard gets its final name, so the journal names every published file of an
// unfinished run. An incomplete last line (power loss) is ignored. The directory is locked during a run.
//
// A run that replaces an older dataset is staged: its shards keep their temporary names until all are complete. Then
// one line records what is removed and what replaces it (Replacement).
//
// Threads: record() may be called by many threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "bale/writer/destination/directory.hpp"
#include "bale/writer/destination/directory_lock.hpp"
#include "bale/writer/journal/dataset_switch.hpp"
#include "bale/writer/journal/journal_lines.hpp"
#include "bale/writer/plan/plan_facts.hpp"

namespace bale {

/// A small file for appending, opened relative to a directory descriptor and never through a symbolic link.
class JournalFile {
 public:
  JournalFile() = default;  // not open
  /// Opens the file and creates it if it is missing. The result is not open if the directory was removed. Throws
  /// `exists` if the name is not that of a regular file.
  static JournalFile open(const Directory& directory, const std::string& name);

  bool is_open() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /// Whether `path` still names this file.
  bool has_its_name(const std::string& path) const;

  std::string text() const;
  /// Writes at `offset`; durable when it returns.
  void write(std::uint64_t offset, std::string_view text);
  /// Truncates the file; durable when it returns.
  void truncate(std::uint64_t size);
  void close() { fd_ = Descriptor(); }

 private:
  JournalFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void sync();

  Descriptor fd_;
  std::string path_;
};

/// Name of the partial directory while it is being removed.
inline constexpr const char* k_removed_name = ".bale-removed";

/// Directories in the partial directory whose names begin so belong to parts of a plan (PartDirectory).
inline constexpr const char* k_parts_prefix = "plan-";
inline constexpr const char* k_journal_name = "journal.jsonl";

/// Like mkdir -p, but new entries are durable.
void make_directories(const std::string& path);

class Journal {
 public:
  /// Whether the destination holds an unfinished or an active run.
  static bool present(const std::string& destination);
  /// What the journal at the destination says, without a lock and without changing anything; empty if there is none.
  /// Throws `retryable` if another run holds the lock, and what open() throws for the parts of a plan.
  static JournalContent look(const std::string& destination);
  /// Removes the remains of a run that was killed while it removed its journal.
  static void clear_removed(const std::string& destination);
  /// Locks the destination for this run and reads its journal. Creates the destination and an empty journal if they are
  /// missing. Throws `retryable` if another run holds the lock.
  static Journal open(const std::string& destination);

  const JournalContent& content() const { return content_; }
  /// Whether a run has begun and not ended.
  bool is_unfinished() const { return content_.good_bytes != 0; }
  /// Whether a shard with samples was recorded, by this run or the one that it continues.
  bool has_recorded() const { return has_recorded_; }

  /// Begins a run: clears the journal and removes temporary files of an earlier run. Of `head` plan, facts, staged,
  /// ends_later and last_files are used. Keeps the samples, if they are known.
  void begin(const JournalContent& head, const ListSamples& samples);
  /// The samples of an unfinished run; empty if it did not keep them, or if they are damaged.
  static ListSamples kept_samples(const std::string& destination);
  /// Continues the unfinished run. Removes temporary files that it does not need, unless `keep_temporary`: then the
  /// caller does, by remove_temporary_except().
  void resume(bool keep_temporary = false);
  /// Removes the temporary files except those whose staged_name() is one of `kept`, and the files next to these.
  void remove_temporary_except(const std::set<std::string>& kept) const;
  void record(const FinishedShard& shard);
  void record(const Replacement& replacement);
  /// Carries out the recorded replacement and then clears the journal.
  void finish_replacement();

  /// Temporary name of a file of the run in the partial directory.
  static std::string staged_name(const std::string& file);
  std::string staged_path(const std::string& file) const { return path_of(staged_name(file)); }
  /// Path of a file in the partial directory.
  std::string path_of(const std::string& name) const { return join_path(partial_.path(), name); }
  const Directory& destination() const { return destination_; }

  /// Deletes the journal and all temporary files of a run. Deletes no other files.
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

/// The lock of a run that changes versions, whose journal is empty. Carries out first what an interrupted run had
/// decided. Throws `exists` if another run has to be continued.
Journal lock_versions(const std::string& directory);

}  // namespace bale
