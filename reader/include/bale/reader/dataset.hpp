// Dataset: random access to a packed dataset of any format. All its shards are one sequence of samples.
//
//   const auto dataset = bale::Dataset::open("packed");
//   for (const bale::OwnedSample& sample : dataset) use(sample.key, sample.label, sample["jpg"]);
//
// Shards that a manifest lists are opened when they are first needed; other shards are opened by open(), unless
// DatasetOptions::counting says later. So a method
// that needs a shard's index or samples may throw what opening a shard throws: `not_found`, `damaged`, `changed`,
// `unsupported`, `io`.
//
// Ownership: names of fields and classes borrow from the Dataset. A SampleView borrows from the caller's Scratch and
// lives until it is used again; an OwnedSample has its own memory.
// Memory: some hundred bytes per shard, the manifest, and the indexes of shards that are open or were used lately
// (DatasetOptions::index_budget).
// Every method of a Dataset that was moved from throws `invalid_argument`.
// Threads: const methods may be called by many threads at once, each with its own Scratch.
// Processes: do not use a Dataset after fork(); open one in each process that reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/held.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/owned_sample.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/reader/in_use.hpp"
#include "bale/reader/version.hpp"

namespace bale {

/// When the samples of shards are counted that no manifest lists. Their indexes are opened for that, and shards without
/// one are scanned. With `while_listed` and `while_read`, shards are counted in their order, when a method needs to
/// know: size() needs all of them, position() those up to the sample. Remote ones are opened a few shards ahead. If the
/// first of these shards has an index, open() counts in any case: that reads no samples.
enum class Counting : std::uint8_t {
  when_opened,   // by Dataset::open(), all
  while_listed,  // for a reader of indexes, from shard to shard
  while_read,    // for a reader of samples in stored order: a remote shard is fetched as a whole if the cache keeps it
                 // until its samples are read
};

struct DatasetOptions {
  bool verify_checksums = true;  // compare each field's CRC32C before delivering it
  /// Bypass the page cache (O_DIRECT) if format and file system support it. For a dataset larger than memory on a fast
  /// disk. Nothing is cached or read ahead, so use many threads or workers. nullopt: open() decides, and
  /// Dataset::options() says how. It bypasses the cache if the local shards do not fit into the memory that is
  /// available (MemAvailable and the limits of control groups, or $BALE_MEMORY_BYTES), less than half of them are
  /// cached, and the first of them can be read so. It does not if `counting` is not when_opened.
  std::optional<bool> direct_io = false;
  /// Leave out shards that cannot be opened, and use the undamaged samples of those that are damaged.
  /// Dataset::losses() lists these shards. Dataset::open() then opens every shard.
  bool salvage = false;
  /// Bytes of indexes to keep in memory, not counting those that are in use. Others are read again when they are
  /// needed. A dataset of few shards keeps all.
  std::uint64_t index_budget = k_index_budget;
  /// If set, indexes lie there, for other processes, up to index_budget. Used by the loader.
  std::shared_ptr<IndexMemory> index_memory{};
  /// False: datasets that are read together keep their labels, and classes() is empty.
  bool merges_classes = true;
  /// Relative names stay as they are, in errors, too: for a program that never changes its directory.
  bool relative_names = false;
  const Format* format = nullptr;  // of every shard; null: detected for each shard
  /// Id of a version of the dataset, or its beginning: "DIRECTORY" with it is "DIRECTORY@ID". Empty: the newest, or as
  /// the spec says.
  std::string version{};
  Counting counting = Counting::when_opened;
  /// Called by open() when it is about to scan a shard, because it has neither a manifest nor an index nor a kept scan:
  /// the number of scans before it, and of all shards. Calls come from several threads, one at a time. What it throws
  /// ends open(). If shards are counted later, it is also called later, until the Dataset is destroyed.
  std::function<void(std::size_t number, std::size_t count)> on_scan{};
};

/// A shard that is missing, wholly or in part.
struct DatasetLoss {
  std::string path;
  std::string why;
  std::optional<std::uint64_t> num_samples{};  // lost, not counting those that reading will report; nullopt: unknown
};

/// Where a sample's bytes are stored.
struct SampleLocation {
  std::string path;               // shard file
  std::vector<FileRange> ranges;  // empty if only the container's library knows
};

class Dataset {
 public:
  /// Opens a dataset. `spec` is
  ///   a directory with a manifest.json, or that file; "DIRECTORY@ID" is a version of it (version.hpp);
  ///   a directory of shard files, which are sorted by name;
  ///   shard files: a path, a glob ("dir/*.tar", matches are sorted) or braces ("x-{000000..000009}.tar");
  ///   several of these joined by "::" (WebDataset's notation), in the order as written.
  /// Relative names are made absolute here, so chdir() changes nothing (unless DatasetOptions::relative_names).
  /// If the parts of a "::" list have different classes, the classes are merged by name, and labels are numbers of the
  /// merged list.
  /// Shards without an index are scanned, which reads headers only. Throws `not_found`, `damaged`, `changed`,
  /// `unsupported`, `io`; throws `invalid_argument` for a malformed spec, and if only some of the parts that have
  /// labels name their classes.
  static Dataset open(const std::string& spec, const DatasetOptions& options = {});

  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  std::uint64_t size() const;
  /// A hash of the shards' file names and their order, which opens none of them.
  std::uint64_t identity_of_names() const;
  /// Counts shards in order until sample `i` is among them, or all are counted. Returns the number of samples counted
  /// so far: if it is not above `i`, it is size(). Tells a dataset that counts later that its reader has come to sample
  /// `i`. Throws what opening a shard throws; the next call tries that shard again.
  std::uint64_t count_beyond(std::uint64_t i) const;
  /// The same, but counts only shards that are open: does not wait, and does not say where the reader is.
  std::uint64_t count_ready(std::uint64_t i) const;
  /// Shards that are counted: the first ones. All of them, unless DatasetOptions::counting says later.
  std::size_t num_counted_shards() const;
  /// Names of the fields that any sample has, in order of first appearance.
  const std::vector<std::string>& fields() const BALE_LIFETIMEBOUND;
  /// Class name of label 0, 1, ...; empty if the classes have no names.
  const std::vector<std::string>& classes() const BALE_LIFETIMEBOUND;
  const DatasetOptions& options() const BALE_LIFETIMEBOUND;
  /// Notices about the shards that open() opened. Shards that a manifest lists are not among them.
  const NoticeLog& notices() const BALE_LIFETIMEBOUND;
  /// With DatasetOptions::salvage: the shards that could not be opened, or only in part.
  const std::vector<DatasetLoss>& losses() const BALE_LIFETIMEBOUND;
  /// The manifest; nullopt if there is none, or if the dataset has several parts.
  const std::optional<Manifest>& manifest() const BALE_LIFETIMEBOUND;
  /// How the images were changed before they were packed, by name of the edit (Manifest::edits). If the parts of a "::"
  /// list differ, the value says that it holds for some images.
  std::map<std::string, std::string> edits() const;
  /// A hash of the content of all shards and layers in order, the same for every copy of a dataset. Uses the digests in
  /// the manifest, else opens the shards. For a shard without a digest, its keys, labels and sizes are hashed.
  std::uint64_t identity() const;
  /// The same as the id of a version (version.hpp): 16 hex digits.
  std::string version() const { return version_id(identity()); }
  /// The same from keys, labels and sizes alone, so that it stays the same when an index is made later. Opens every
  /// shard.
  std::uint64_t identity_of_samples() const;

  /// Tells this dataset from one that was opened under the same spec earlier or later: a hash of the classes, of
  /// the number of shards, and of what is held of the first `num_shards` of them (their digests in the manifest, else
  /// their indexes). Opens no shard that is counted.
  std::uint64_t stamp(std::size_t num_shards) const;

  // Every method with a shard number throws `invalid_argument` unless it is below num_shards().

  std::size_t num_shards() const;
  const std::string& shard_path(std::size_t shard) const BALE_LIFETIMEBOUND;
  /// The digest of the shard file that its manifest names; empty if there is no manifest.
  std::string expected_digest(std::size_t shard) const;
  /// The layers (formats/shard/LAYER.md) of the shard's version, whether they touch the shard or not; null if there are
  /// none. They are read now unless an index of the version is open, which needs them, too.
  std::shared_ptr<const Layers> layers(std::size_t shard) const;
  /// Number of samples of a shard.
  std::uint64_t shard_size(std::size_t shard) const;
  /// Opens the shard unless it is open. It stays open while the pointer is held. Of the others, the least recently used
  /// are closed when many are open. Do not hold the pointer longer than the Dataset.
  std::shared_ptr<const Shard> shard(std::size_t shard) const;
  /// The same for a single use; cheaper.
  ShardInUse use_shard(std::size_t shard) const;
  /// The same for one who holds `known` of the shard. Throws `changed` if it is another one.
  ShardInUse use_shard(std::size_t shard, const ShardIdentity& known) const;
  /// What this dataset holds of the shard. Opens it unless it was open before.
  ShardIdentity shard_identity(std::size_t shard) const;
  /// The shard's index, which stays in memory while the result is held. Opens the shard unless its index is in memory.
  /// Its labels are the shard's own: see label(). Do not hold it longer than the Dataset.
  IndexInUse use_index(std::size_t shard) const;
  /// Whether the shard has an index file next to it. Of a remote one, what was read of it is in the cache then.
  bool has_index_file(std::size_t shard) const;
  /// The shard of sample `i`, and the number of the sample in that shard. Throws `invalid_argument` if i >= size().
  std::pair<std::size_t, std::uint64_t> position(std::uint64_t i) const;

  // Every method with a sample number `i` throws `invalid_argument` if i >= size().

  /// All fields of sample `i`, until `scratch` is used again. Throws `damaged` if a checksum does not match, and `io`.
  SampleView read(std::uint64_t i, Scratch& scratch) const;
  /// The same with memory of its own.
  OwnedSample read(std::uint64_t i) const;
  /// The same of many samples, in the order of `indices`, which may repeat. Their bytes are requested together and read
  /// by `threads` threads (0: one per core). The first error ends it.
  std::vector<OwnedSample> read_many(std::span<const std::uint64_t> indices, unsigned threads = 0) const;
  /// One field of sample `i`. Also throws `not_found` if the sample does not have it.
  Bytes read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const;
  /// The key of sample `i`. Reads only the shard's index.
  std::string key(std::uint64_t i) const;
  /// The label of sample `i` as a number of classes(), k_no_label if it has none. Reads only the shard's index. Throws
  /// `damaged` if labels are translated and this one has no class name.
  std::int64_t label(std::uint64_t i) const;
  /// The same for a sample that is given by its shard. Throws `invalid_argument` unless sample < shard_size(shard).
  std::int64_t label_in_shard(std::size_t shard, std::uint64_t sample) const;
  /// Whether any label differs from the one in its shard, because classes were merged.
  bool translates_labels() const;
  /// The first sample with this key. Searches the shards in order, each in O(log n), and opens those that were not
  /// opened before: a key that does not exist opens every shard.
  std::optional<std::uint64_t> find(std::string_view key) const;
  /// The sample that find() finds. Throws `not_found` if there is none, and what read() throws.
  SampleView read(std::string_view key, Scratch& scratch) const;
  OwnedSample read(std::string_view key) const;

  /// Where sample `i` is stored.
  SampleLocation locate(std::uint64_t i) const;
  /// Asks the kernel to read the samples' bytes ahead; does not wait for the disk. Opens the shards that it needs.
  /// Ranges are merged per shard, so pass all the samples that you will read next.
  void prefetch(std::span<const std::uint64_t> indices) const;

  /// All samples in stored order, each as an OwnedSample: for (const auto& sample : dataset). Reading may throw what
  /// read() throws.
  class Iterator;
  Iterator begin() const BALE_LIFETIMEBOUND;
  std::default_sentinel_t end() const { return {}; }

 private:
  struct State;
  explicit Dataset(std::unique_ptr<State> state);
  Held<std::unique_ptr<State>> state_;
};

/// A std::input_iterator, of which each thread has its own. It reads when it is dereferenced.
class Dataset::Iterator {
 public:
  using value_type = OwnedSample;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(const Dataset& dataset) : dataset_(&dataset) {}

  OwnedSample operator*() const { return dataset_->read(i_); }
  Iterator& operator++() {
    ++i_;
    return *this;
  }
  void operator++(int) { ++i_; }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) {
    return at.dataset_->count_beyond(at.i_) <= at.i_;
  }

 private:
  const Dataset* dataset_;
  std::uint64_t i_ = 0;
};

inline Dataset::Iterator Dataset::begin() const { return Iterator(*this); }

}  // namespace bale
