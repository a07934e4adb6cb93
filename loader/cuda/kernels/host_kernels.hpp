// The kernels on the host, from the same source as on a device: for devices that refuse the PTX, and for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "bale/loader/cuda/kernels/kernel_args.hpp"

namespace bale::cuda_detail {

struct HostGrid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t block = 1;
};

struct HostKernel {
  std::size_t value_bytes = 0;  // of the output
  std::size_t table_bytes = 0;
  /// Does the work of all threads of the grid, one after the other. The pointers are of host memory.
  std::function<void(const ConvertArgs&, const HostGrid&)> run{};
};

/// The kernel named bale_KIND_LAYOUT_PIXELS; one without `run` if there is none.
HostKernel host_kernel_named(const std::string& name);

/// bale_resize_weights and bale_resize, which have other arguments.
void run_resize_weights(const ResizeArgs& args, const HostGrid& grid);
void run_resize(const ResizeArgs& args, const HostGrid& grid);

}  // namespace bale::cuda_detail
