#pragma once
// What an open dataset consists of. dataset_opening.cpp opens its shards, dataset_counting.cpp counts their samples,
// dataset.cpp names its classes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/reader/shards/shard_scanner.hpp"
#include "bale/reader/spec/dataset_identity.hpp"
#include "bale/reader/spec/dataset_spec.hpp"

namespace bale {

struct Dataset::State {
  struct Entry {
    std::string path;
    std::size_t part = 0;
    const ManifestShard* expected = nullptr;  // its entry in the manifest, if there is one
    // Set if the shard was salvaged.
    const Format* format = nullptr;
    std::shared_ptr<const ShardIndex> index{};

    std::string digest() const { return expected != nullptr ? expected->digest : std::string(); }
  };

  /// One of the datasets that are read together.
  struct Part {
    std::string path;
    std::string manifest_path{};
    FileStamp manifest_file{};  // when it was read
    std::optional<Manifest> manifest{};
    std::shared_ptr<const Layers> layers{};  // may be null
    std::vector<std::string> classes{};
    LabelMap labels{};
  };

  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const OwnProcess process{};
  DatasetOptions options;
  std::vector<Part> parts;
  std::vector<Entry> entries;
  std::unique_ptr<OpenShards> shards;
  std::vector<std::string> fields;
  std::set<std::string, std::less<>> known_fields;
  std::set<std::string, std::less<>> list_fields;  // made of several values of a feature: "NAME.json"
  std::mutex other_fields_mutex;
  std::set<std::string> other_fields;
  std::vector<std::string> classes;
  std::vector<std::string> label_texts;  // numbers of the merged classes, as text of `cls` fields
  bool translates_labels = false;
  std::optional<Manifest> no_manifest;
  std::unique_ptr<ShardCounter> counter;
  NoticeLog notices;
  std::vector<DatasetLoss> losses;
  mutable std::mutex scan_mutex;
  mutable std::size_t num_scanned = 0;       // shards whose scan has begun
  std::atomic<bool> counts_first{false};     // the reader waits for all counts before it reads on
  std::unique_ptr<ShardScanner> scan_ahead;  // if shards are counted later; uses the others, so it is destroyed first

  // Parts and their shards.

  /// Throws `invalid_argument` for a number that no shard has, as entry() and open_shards() do.
  void check_shard(std::size_t number) const;
  const Entry& entry(std::size_t number) const {
    check_shard(number);
    return entries[number];
  }
  OpenShards& open_shards(std::size_t number) const {
    check_shard(number);
    return *shards;
  }
  void add_part(const DatasetPart& named);
  /// Reads those that the entry's index needs. Throws `removed` if its version is gone.
  void load_layers(const Entry& entry) const;
  /// Throws `removed` if a file of the shard was not found because its version is gone.
  void require_kept(const Entry& entry, const Error& error) const;
  /// Of a shard that is not where it was; empty if only its name can tell where it is.
  std::string digest_to_find(const Entry& entry) const;
  /// What `read` returns, or that error.
  template <typename Read>
  auto read_kept(const Entry& entry, const Read& read) const {
    try {
      return read();
    } catch (const Error& error) {
      require_kept(entry, error);
      throw;
    }
  }
  void add_layers(DatasetIdentity& identity) const;
  void add_field(const std::string& name);
  /// Opens every shard and leaves out those that cannot be opened. Throws the first error if none can be opened.
  void leave_out_lost_shards();
  /// Decides DatasetOptions::direct_io, if that was not done by the caller.
  void choose_direct_io();
  /// Other readers read ahead through the page cache: if shards cannot be read around it, say so.
  void check_chosen_direct_io();
  Shard open(std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index) const;

  // Numbers of samples.

  /// Shards without a manifest must be opened to count their samples.
  void count_samples();
  bool is_counted_at_once(std::size_t number) const;

  // Classes and labels.

  void name_classes();
  /// Throws `invalid_argument` if a class of the part gets another number that a field has inside.
  void require_numbers_inside(std::size_t part) const;
  const LabelMap& labels_of(std::size_t shard) const { return parts[entries[shard].part].labels; }
  /// Translates a `cls` field that has the shard's own label to the dataset's label.
  Bytes translated(std::size_t shard, Bytes cls) const;
  /// The shard's index, which has the texts of a sample, may be dropped: the sample gets the key from its Scratch, and
  /// the names of its fields from here.
  void keep_texts(SampleView& sample, Scratch& scratch);

 private:
  std::optional<std::size_t> first_local_shard() const;
  ShardOpenOptions opening(const Entry& entry) const;
  /// At the path of the entry.
  Shard open_now(const Entry& entry, const Format* format, const std::shared_ptr<const ShardIndex>& index) const;
  Shard open_anew(const Entry& entry, const ShardOpenOptions& opening) const;
  /// Opens a shard that a manifest lists. Of a remote one the cache may have files of an older dataset: then they are
  /// asked for again.
  Shard open_listed(const Entry& entry, const ShardOpenOptions& opening) const;
  /// Opens a shard that no manifest lists.
  Shard open_unlisted(const Entry& entry, const ShardOpenOptions& opening) const;
  /// Whether a shard that is scanned later is fetched as a whole: it stays in the cache until its samples are read.
  bool is_fetched_whole(std::uint64_t bytes, const Storage& storage) const;
  /// Warns of a feature that is the field NAME in some shards and NAME.json in others, where it has several values.
  void find_lists(const ShardIndex& index);
  /// Number of samples of a shard. Adds what only its index says of it.
  std::uint64_t count(std::size_t number);
  /// Whether the first shard that no manifest lists has no index. Then the others will have none, too.
  bool has_shard_to_scan() const;
  void start_scan_ahead();
  /// Opens the remote shards that no manifest lists, several at a time: each waits for its server. Those that must be
  /// scanned are fetched as a whole if the cache has room for all: their samples are read next, and one request per
  /// header takes longer.
  void open_unlisted_remote();
  /// Counts a shard that is about to be scanned.
  void report_scan() const;
  bool has_labels(std::size_t part) const;
  /// The first field of the part that may have numbers of classes inside (has_class_numbers()); else empty.
  std::string field_with_numbers(std::size_t part, bool is_labeled) const;
};

}  // namespace bale
