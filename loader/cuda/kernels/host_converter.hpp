// HostConverter: does what Converter does, on the host, for devices that refuse the kernels. The bits are the same.
//
// Immutable; safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/cuda/kernels/host_kernels.hpp"
#include "bale/loader/cuda/kernels/kernel_choice.hpp"

namespace bale::cuda_detail {

class HostConverter {
 public:
  /// As of Converter::load().
  HostConverter(const Transform& delivered, bool mixes);

  /// `in`, `rows` and `out`: host memory for num_images images. Returns when it is done.
  void run(Bytes in, const ConvertRow* rows, std::byte* out, std::uint32_t num_images) const;

 private:
  KernelChoice choice_;
  std::uint32_t width_;
  std::uint32_t height_;
  HostKernel kernel_;
};

}  // namespace bale::cuda_detail
