// ProcessDataset: a Dataset that opens itself again in another process.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
    dataset_ = std::make_unique<Dataset>(Dataset::open(spec_, options_));
    kept_indexes_.assign(dataset_->num_shards(), nullptr);
    pid_ = ::getpid();
  }
  /// The Dataset belongs to the parent. Its locks may have been held when the process forked.
  void leak() { [[maybe_unused]] Dataset* const parents = dataset_.release(); }

  std::string spec_;
  DatasetOptions options_;
  std::unique_ptr<Dataset> dataset_;
  std::vector<const ShardIndex*> kept_indexes_;  // those that stay as long as the Dataset; null: not known
  pid_t pid_ = -1;
};

}  // namespace bale::python
