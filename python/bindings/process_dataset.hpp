// ProcessDataset: a Dataset that opens itself again in another process.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

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

 private:
  void open() {
    const WithoutGil without_gil;
    dataset_ = std::make_unique<Dataset>(Dataset::open(spec_, options_));
    pid_ = ::getpid();
  }
  /// The Dataset belongs to the parent. Its locks may have been held when the process forked.
  void leak() { [[maybe_unused]] Dataset* const parents = dataset_.release(); }

  std::string spec_;
  DatasetOptions options_;
  std::unique_ptr<Dataset> dataset_;
  pid_t pid_ = -1;
};

}  // namespace bale::python
