// ProcessBatch: the Batch of a Python object. Arrays made from it keep the Python object alive, so the slot returns to
// the workers when the last of them is destroyed.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/batch.hpp"
#include "bale/loader/cuda/device_batch.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"

namespace bale::python {

// release(): how a Python object destroys its batch. Returning a batch opens the next one in its slot (thousands of
// rows are drawn), or queries events of the device. Other Python threads can run in the meantime.

/// Destroys `batch`, which the process `owner` made, without the GIL. In a forked child it is leaked: only the parent
/// may return the memory.
template <typename AnyBatch>
void release(std::unique_ptr<AnyBatch> batch, pid_t owner) noexcept {
  if (!batch) return;
  if (owner != ::getpid()) {
    [[maybe_unused]] AnyBatch* const parents = batch.release();
    return;
  }
  const WithoutGil without_gil;
  batch.reset();
}

class ProcessBatch {
 public:
  /// `positions` is a bale._loader.lazy_keys.LazyKeys, which knows the keys.
  ProcessBatch(Batch batch, nb::object positions)
      : batch_(std::make_unique<Batch>(std::move(batch))), positions_(std::move(positions)), pid_(::getpid()) {}
  ProcessBatch(ProcessBatch&&) noexcept = default;
  ~ProcessBatch() { release(std::move(batch_), pid_); }

  /// Can also be used in a forked child, which has a copy of it.
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

// ProcessDeviceBatch: the DeviceBatch of a Python object. It belongs to the process that made it.
class ProcessDeviceBatch {
 public:
  /// `positions` is a bale._loader.lazy_keys.LazyKeys, which knows the keys.
  ProcessDeviceBatch(DeviceBatch batch, nb::object positions)
      : batch_(std::make_unique<DeviceBatch>(std::move(batch))), positions_(std::move(positions)), pid_(::getpid()) {}
  ProcessDeviceBatch(ProcessDeviceBatch&&) noexcept = default;
  ~ProcessDeviceBatch() { release(std::move(batch_), pid_); }

  DeviceBatch& get() const {
    if (pid_ != ::getpid()) {
      throw Error(ErrorCode::invalid_argument, "this batch is on a device of another process, which forked this one",
                  {.hint = "processes that use CUDA must not be forked: start them by spawn"});
    }
    return *batch_;
  }
  const nb::object& positions() const { return positions_; }

 private:
  std::unique_ptr<DeviceBatch> batch_;
  nb::object positions_;
  pid_t pid_;
};

}  // namespace bale::python
