// Dataset: random access to a packed dataset of any format, many shards as one sequence.
//
// Threads: const methods may be called by many threads at once, each with its own Scratch; shards are
// opened lazily, each under a lock of its own. Processes: open a Dataset in each process that reads; never use one
// across fork.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/manifest.hpp"
#include "bale/formats/core/sample.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/reader/open_shards.hpp"

namespace bale {

struct DatasetOptions {
  bool verify_checksums = true;  // compare each field's CRC32C before delivering it
  /// Read around the page cache where format and file system can (O_DIRECT): for a dataset much larger than memory on a
  /// fast disk. Nothing is kept or read ahead then; have many threads or workers read at a time.
  bool direct_io = false;
  /// Leave out shards that cannot be opened, and take what is whole of those that are damaged; Dataset::losses() names
  /// them all. Every shard is opened at once then.
  bool salvage = false;
  const Format* format = nullptr;  // of every shard; null: what each looks like
};

/// A shard that is not there, or not all of it.
struct DatasetLoss {
  std::string path;
  std::string why;
  std::optional<std::uint64_t> num_samples{};  // lost beside those in the index that cannot be read; nullopt: unknown
};

/// Where a sample's bytes lie.
struct SampleLocation {
  std::string path;               // shard file
  std::vector<FileRange> ranges;  // empty where only the container's library can reach them
};

class Dataset {
 public:
  /// Opens a dataset named by
  ///   a directory with a manifest.json, or that file;
  ///   shard files: a path, a glob ("dir/*.tar"), braces ("x-{000000..000009}.tar"), several of them
  ///   joined by "::" (WebDataset's notation). Order: as written; glob matches sorted by bytes;
  ///   several of all these, joined by "::". If their classes differ, they are merged by name, and labels are numbers
  ///   of the merged list. If only some of those that have labels name their classes, they are refused.
  /// Shards without our index are scanned by headers only. Throws `not_found`, `damaged`, `unsupported`.
  static Dataset open(const std::string& spec, const DatasetOptions& options = {});

  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  std::uint64_t size() const;
  /// Names of the fields that any sample has, in order of first appearance.
  const std::vector<std::string>& fields() const;
  /// Class name of label 0, 1, ...; empty where the dataset does not say.
  const std::vector<std::string>& classes() const;
  const DatasetOptions& options() const;
  /// What the scans of shards without an index left out. Shards with a manifest are not scanned here.
  const NoticeLog& notices() const;
  /// With DatasetOptions::salvage: what could not be opened, or not all of it.
  const std::vector<DatasetLoss>& losses() const;
  /// The manifest where there is one.
  const std::optional<Manifest>& manifest() const;
  /// What was done to the images before they were packed, by name (Manifest::edits). If the datasets of a list differ,
  /// the value says that it holds for some images.
  std::map<std::string, std::string> edits() const;
  /// A hash of the shards' content in their order: the same for every copy of a dataset, whatever its path. Of shards
  /// whose digest is not known, keys, labels and sizes are hashed.
  std::uint64_t identity() const;
  /// The same of keys, labels and sizes alone, which an index that is made later does not change. Opens every shard.
  std::uint64_t identity_of_samples() const;

  std::size_t num_shards() const;
  const std::string& shard_path(std::size_t shard) const;
  std::uint64_t shard_size(std::size_t shard) const;
  /// Opens the shard unless it is open. It stays open while the handle is held; of those that nobody holds, the least
  /// lately used are closed when many are open (open_shards.hpp). Not to be held longer than the Dataset.
  std::shared_ptr<const Shard> shard(std::size_t shard) const;
  /// The same for one use.
  ShardInUse use_shard(std::size_t shard) const;
  /// The shard's index, which lives as long as the Dataset. Its labels are the shard's own: see label().
  const ShardIndex& index(std::size_t shard) const;
  /// Which shard, and which sample of it, position `i` is. Precondition: i < size().
  std::pair<std::size_t, std::uint64_t> position(std::uint64_t i) const;

  /// Throws `invalid_argument` for i >= size(), `damaged` where a checksum does not match.
  SampleView read(std::uint64_t i, Scratch& scratch) const;
  Bytes read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const;
  /// Key and label need no payload read; the key borrows from the Dataset.
  std::string_view key(std::uint64_t i) const;
  std::int64_t label(std::uint64_t i) const;
  /// The label of a sample of a shard, as a number of classes().
  std::int64_t label_in_shard(std::size_t shard, std::uint64_t sample) const;
  /// Whether labels are others than those in the shards.
  bool translates_labels() const;
  std::optional<std::uint64_t> find(std::string_view key) const;

  SampleLocation locate(std::uint64_t i) const;
  /// Asks the kernel to read the samples' bytes ahead; returns at once. Ranges are merged per shard, so
  /// give as many indices at a time as you are about to read.
  void prefetch(std::span<const std::uint64_t> indices) const;

 private:
  struct State;
  explicit Dataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bale
