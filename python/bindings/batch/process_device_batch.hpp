// ProcessDeviceBatch: the DeviceBatch of a Python object. It belongs to the process that made it.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/cuda/device_batch.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/release.hpp"

namespace bale::python {

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
