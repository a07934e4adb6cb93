// PixelKernels: who runs the kernels for a loader's batches: the device, this process, or nobody (workers convert).
#pragma once

#include <memory>
#include <string>

#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/loader/cuda/kernels/host_converter.hpp"

namespace bale::cuda_detail {

/// At most one of the converters is set. Without one, workers make the pixels as they are delivered.
struct PixelKernels {
  std::unique_ptr<const Converter> on_device{};
  std::unique_ptr<const HostConverter> on_host{};
  std::string refusal{};  // why the device does not run them; empty unless it refused

  /// The device if it takes the kernels. Otherwise workers convert, or this process if images are also to be mirrored
  /// or mixed, which workers do not do. Throws the driver's errors, but not its refusal.
  static PixelKernels choose(const std::shared_ptr<const Context>& context, const Transform& delivered,
                             const CudaOptions& cuda);

  bool convert() const { return on_device != nullptr || on_host != nullptr; }
};

}  // namespace bale::cuda_detail
