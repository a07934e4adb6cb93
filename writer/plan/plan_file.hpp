// PlanFile: a plan on disk, from which other processes pack its shards (writer/plan/PLAN.md).
//
// Memory: some hundred bytes per shard. The rows of the samples stay on disk until a shard is packed.
// Threads: const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/plan/plan.hpp"

namespace bale {

class PlanFile {
 public:
  /// Writes the plan durably to `path`, by rename. Throws `exists` if the name is taken, `unsupported` if the source
  /// cannot be saved, and `io`.
  static void write(const std::string& path, const Source& source, const PackOptions& options, const Plan& plan);
  /// Opens a plan and checks everything in it but the rows. Throws `not_found`, `io`, `damaged` if it is not a plan or
  /// not whole, and `unsupported` if another version of bale made it, or a program with another JPEG encoder.
  static PlanFile open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// 32 hexadecimal digits that stand for the whole plan.
  const std::string& digest() const { return digest_; }
  /// What parts need of the options. Jobs and how the shards were cut are not among them.
  const PackOptions& options() const { return options_; }
  /// Its datasets have no order: the rows have it.
  const Plan& plan() const { return plan_; }
  /// What the source said of itself. Borrows from this object.
  ManifestFacts facts() const { return {classes_, earlier_edits_, keys_, losses_}; }
  /// Source::save_head().
  const std::string& source_head() const { return source_head_; }
  /// Throws `invalid_argument` if paths in the plan are relative to another directory than the current one.
  void require_directory() const;

  /// A shard of any of the datasets.
  struct Place {
    const PlannedDataset* dataset;
    const PlannedShard* shard;
  };
  std::uint64_t num_shards() const { return entries_.size(); }
  /// Shards are numbered over all datasets. Precondition: number < num_shards().
  Place place(std::uint64_t number) const;
  /// Calls `row` for each sample of a shard, in order. What it gets is valid during the call. Throws `damaged` if the
  /// rows are not those that were written; `row` may have been called before.
  void read_rows(std::uint64_t number, const std::function<void(std::string_view)>& row) const;

 private:
  struct Entry {
    std::uint64_t offset;  // in the file
    std::uint64_t bytes;
    std::uint64_t num_rows;
    std::uint64_t payload_bytes;
    std::uint32_t dataset;
    std::uint32_t zero;
    Digest digest;  // of the bytes
  };
  struct Trailer;
  class Output;

  explicit PlanFile(File file) : file_(std::move(file)) {}
  void read_head(std::string_view text);
  void lay_out();
  [[noreturn]] void refuse(std::string_view why) const;

  File file_;
  std::string digest_;
  PackOptions options_;
  Plan plan_;
  std::string source_head_;
  std::vector<std::string> classes_;
  std::map<std::string, std::string> earlier_edits_;
  KeyForm keys_ = KeyForm::plain;
  std::vector<SourceLoss> losses_;
  std::string directory_;  // in which the plan was made, if a path in it is relative; else empty
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> first_shard_;  // of each dataset
};

}  // namespace bale
