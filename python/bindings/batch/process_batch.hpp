// ProcessBatch: the Batch of a Python object. Arrays made from it keep the Python object alive, so the slot returns to
// the workers when the last of them is destroyed.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "bale/loader/batch.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/release.hpp"

namespace bale::python {

class ProcessBatch {
 public:
  /// `positions` is a bale._loader.lazy_keys.LazyKeys, which knows the keys.
  ProcessBatch(Batch batch, nb::object positions)
      : batch_(std::make_unique<Batch>(std::move(batch))), positions_(std::move(positions)), pid_(::getpid()) {}
  ProcessBatch(ProcessBatch&&) noexcept = default;
  ~ProcessBatch() { release(std::move(batch_), pid_); }

  /// Can also be read in a forked child: the memory is shared.
  const Batch& get() const { return *batch_; }
  /// The transform of a view. Precondition: view < num_views().
  const Transform& transform(std::size_t view = 0) const { return batch_->transform(view); }
  std::size_t num_views() const { return batch_->num_views(); }
  const nb::object& positions() const { return positions_; }

 private:
  std::unique_ptr<Batch> batch_;
  nb::object positions_;
  pid_t pid_;
};

}  // namespace bale::python
