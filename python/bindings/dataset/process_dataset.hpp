// ProcessDataset: a Dataset that opens itself again in another process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::python {

class ProcessDataset {
 public:
  ProcessDataset(std::string spec, bool verify_checksums)
      : spec_(std::move(spec)), options_{.verify_checksums = verify_checksums} {
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

  /// Tells what another process, or a Loader, has open under the same spec: the number of shards that it has counted,
  /// and Dataset::version() of them.
  using Version = std::pair<std::size_t, std::uint64_t>;
  const Version& version() const { return *version_; }
  /// Throws `changed` if this dataset is another one.
  void require_version(const Version& wanted) { require_version(get(), wanted); }

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

 private:
  void open() {
    const WithoutGil without_gil;
    auto opened = std::make_unique<Dataset>(Dataset::open(spec_, options_));
    if (version_) require_version(*opened, *version_);
    version_ = Version{opened->num_shards(), opened->version(opened->num_shards())};
    dataset_ = std::move(opened);
    kept_indexes_.assign(dataset_->num_shards(), nullptr);
    pid_ = ::getpid();
  }
  void require_version(const Dataset& dataset, const Version& wanted) const {
    if (wanted.first <= dataset.num_shards() && dataset.version(wanted.first) == wanted.second) return;
    throw Error(ErrorCode::changed, "the dataset was replaced since it was opened",
                {.path = spec_, .hint = "open the dataset again"});
  }
  /// The Dataset belongs to the parent. Its locks may have been held when the process forked.
  void leak() { [[maybe_unused]] Dataset* const parents = dataset_.release(); }

  std::string spec_;
  DatasetOptions options_;
  std::unique_ptr<Dataset> dataset_;
  std::optional<Version> version_;               // since it was first opened
  std::vector<const ShardIndex*> kept_indexes_;  // those that stay as long as the Dataset; null: not known
  pid_t pid_ = -1;
};

}  // namespace bale::python
