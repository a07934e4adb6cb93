// Device work for measurements: dummy training steps of a given duration, and plain copies.
#pragma once

#include <cstddef>
#include <memory>

#include "bale/loader/cuda/driver/context.hpp"

namespace bale::cuda_detail {

class DummyStep {
 public:
  /// Throws `unsupported` if the device does not take the kernel.
  explicit DummyStep(std::shared_ptr<const Context> context);
  /// Keeps `stream` busy for `seconds`. It uses one of the device's multiprocessors, not all of them.
  void run(StreamHandle stream, double seconds) const;

 private:
  std::shared_ptr<const Context> context_;
  std::unique_ptr<const Module> module_;
  FunctionHandle kernel_;
};

/// The rate of plain copies of `size_bytes` bytes from page-locked memory (ordinary memory where the driver refuses
/// that), in bytes per second: the median of several.
double plain_copy_rate(const std::shared_ptr<const Context>& context, std::size_t size_bytes);

}  // namespace bale::cuda_detail
