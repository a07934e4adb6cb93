// PartDirectory: what parts of a plan keep while they pack: DESTINATION/.bale-partial/plan-DIGEST. It has a record per
// finished shard, temporary files of running parts, and the numbers of parts that were asked for.
//
// There is no lock. A record is durable before its shard gets its final name, and is written by rename. Its name has
// the shard's number and digest: two attempts that wrote the same bytes make one record, others make two, which is
// noticed.
//
// Threads and processes: all methods may be called by many at once, also on several machines that share the directory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bale/writer/journal/journal.hpp"
#include "bale/writer/plan/plan_file.hpp"

namespace bale {

class PartDirectory {
 public:
  /// Creates the destination and the directory if they are missing. Throws `exists` if the destination holds anything
  /// else: other files, an unfinished pack, or parts of another plan.
  static PartDirectory make(const PlanFile& plan);
  /// Throws `exists` as make() does. Changes nothing.
  static void require_may_make(const PlanFile& plan);
  /// nullopt if there is none.
  static std::optional<PartDirectory> find(const PlanFile& plan);

  struct Record {
    std::string name;
    FinishedShard finished;
  };
  /// Whole records of the shards that `wanted` takes, by number of the shard.
  using Records = std::map<std::uint64_t, std::vector<Record>>;
  Records records(const std::function<bool(std::uint64_t)>& wanted) const;
  /// Durable when it returns. Returns the record's name.
  std::string record(std::uint64_t shard, const FinishedShard& finished) const;
  void remove_record(const std::string& name) const;

  std::string path_of(const std::string& name) const { return join_path(path_, name); }
  const std::string& path() const { return path_; }
  /// PlannedShard::staged_as for one attempt: no other attempt has the same.
  static std::string staged_as(std::uint64_t shard);
  /// Removes the temporary files of all attempts at a shard that is finished.
  void remove_staged(std::uint64_t shard, const std::string& subdirectory) const;

  /// Remembers that the shards are divided among `parts` parts.
  void note_parts(std::uint64_t parts) const;
  std::set<std::uint64_t> noted_parts() const;

  /// Deletes that of a plan, if there is one, and the partial directory if nothing else is in that. What another
  /// process deletes in the meantime is not an error.
  static void remove(const PlanFile& plan);

 private:
  PartDirectory(const PlanFile& plan, std::string destination);

  std::string destination_;
  std::string path_;
};

}  // namespace bale
