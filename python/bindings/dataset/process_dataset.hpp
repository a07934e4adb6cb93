// ProcessDataset: a Dataset that opens itself again in another process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::python {

/// Tells what a process, or a Loader, has open under a spec: the number of shards that it has counted, Dataset::stamp()
/// of them, and if it can be opened by name, Dataset::version().
using HeldVersion = std::tuple<std::size_t, std::uint64_t, std::string>;

inline HeldVersion held_version(const Dataset& dataset) {
  const std::size_t num_shards = dataset.num_counted_shards();
  return {num_shards, dataset.stamp(num_shards), dataset.manifest() ? dataset.version() : std::string()};
}

/// Whether a dataset that was opened later is the same.
inline bool holds_version(const Dataset& dataset, const HeldVersion& wanted) {
  const auto& [num_shards, stamp, version] = wanted;
  if (!version.empty() && !(dataset.manifest() && dataset.version() == version)) return false;
  return num_shards <= dataset.num_shards() && dataset.stamp(num_shards) == stamp;
}

class ProcessDataset {
 public:
  /// `wanted`: what another process has open under the spec; this one opens the same, or throws `changed`.
  ProcessDataset(std::string spec, bool verify_checksums, std::optional<HeldVersion> wanted, bool merges_classes)
      : spec_(std::move(spec)),
        options_{.verify_checksums = verify_checksums, .merges_classes = merges_classes},
        version_(std::move(wanted)) {
    open();
  }
  ~ProcessDataset() {
    if (pid_ != ::getpid()) leak();
  }
  ProcessDataset(const ProcessDataset&) = delete;
  ProcessDataset& operator=(const ProcessDataset&) = delete;

  const Dataset& get() {
    if (pid_ != ::getpid()) {
      leak();
      open();
    }
    return *dataset_;
  }

  const HeldVersion& version() const { return *version_; }
  /// Throws `changed` if this dataset is another one.
  void require_version(const HeldVersion& wanted) {
    if (!holds_version(get(), wanted)) refuse();
  }

  /// The index of a shard of get(), as Dataset::use_index() has it. Releases the GIL if that may wait.
  IndexInUse use_index(std::size_t shard) {
    const Dataset& dataset = *dataset_;
    if (const ShardIndex* const kept = kept_indexes_[shard]) return IndexInUse(kept);
    const auto use = [&] {
      const WithoutGil without_gil;
      return dataset.use_index(shard);
    };
    IndexInUse index = use();
    if (!index.is_counted()) kept_indexes_[shard] = &*index;
    return index;
  }
  /// Holds the index of a sample's shard if a server may have to send it: what needs it next does not wait with the
  /// GIL.
  std::optional<IndexInUse> use_remote_index(std::uint64_t sample) {
    if (!is_remote_) return std::nullopt;
    return use_index(dataset_->position(sample).first);
  }
  /// Whether any shard is.
  bool is_remote() const { return is_remote_; }

 private:
  void open() {
    const WithoutGil without_gil;
    auto opened = std::make_unique<Dataset>(Dataset::open(spec_, options_));
    if (version_ && !holds_version(*opened, *version_)) opened = open_earlier();
    version_ = held_version(*opened);
    dataset_ = std::move(opened);
    kept_indexes_.assign(dataset_->num_shards(), nullptr);
    is_remote_ = false;
    for (std::size_t n = 0; n < dataset_->num_shards() && !is_remote_; ++n) {
      is_remote_ = remote_storage_of(dataset_->shard_path(n)) != nullptr;
    }
    pid_ = ::getpid();
  }
  /// Another version was published since the dataset was opened.
  std::unique_ptr<Dataset> open_earlier() const {
    const std::string& version = std::get<std::string>(*version_);
    if (version.empty()) refuse();
    try {
      return std::make_unique<Dataset>(Dataset::open(with_version(spec_, version), options_));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_found) throw;
      refuse();
    }
  }
  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::changed, "the dataset was replaced since it was opened",
                {.path = spec_, .hint = "open the dataset again"});
  }
  /// The Dataset belongs to the parent. Its locks may have been held when the process forked.
  void leak() { [[maybe_unused]] Dataset* const parents = dataset_.release(); }

  std::string spec_;
  DatasetOptions options_;
  std::unique_ptr<Dataset> dataset_;
  std::optional<HeldVersion> version_;  // since it was first opened
  bool is_remote_ = false;
  std::vector<const ShardIndex*> kept_indexes_;  // those that stay as long as the Dataset; null: not known
  pid_t pid_ = -1;
};

}  // namespace bale::python
