// What measuring needs of a device: work of a given length in place of a training step's, and plain copies.
#pragma once

#include <cstddef>
#include <memory>

#include "bale/loader/cuda/context.hpp"

namespace bale::cuda_detail {

class DummyStep {
 public:
  /// Throws `unsupported` where this build has no kernels.
  explicit DummyStep(std::shared_ptr<const Context> context);
  /// Keeps `stream` busy for so long. It takes one of the device's processors, not all of them.
  void run(StreamHandle stream, double seconds) const;

 private:
  std::shared_ptr<const Context> context_;
  Module module_;
  FunctionHandle kernel_;
};

/// What plain copies of so many bytes from page-locked memory reach, in bytes a second: the median of several.
double plain_copy_rate(const std::shared_ptr<const Context>& context, std::size_t size_bytes);

}  // namespace bale::cuda_detail
