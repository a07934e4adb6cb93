// Which kernel makes the batches of a transform, and from which values. The same on a device and on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bale/loader/cuda/kernels/convert_args.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::cuda_detail {

inline constexpr std::uint32_t k_max_grid_y = 65535;  // of any device

/// Whether there is a kernel for the output of `transform`: floats of a fixed shape.
bool kernels_can_make(const Transform& transform);

/// The transform of the workers if a kernel converts: the same images with 8 bits, H x W x C.
Transform before_kernels(Transform delivered);

struct KernelChoice {
  /// `mixes`: rows may have partners, shares and boxes. Precondition: kernels_can_make(delivered).
  KernelChoice(const Transform& delivered, bool mixes);

  std::string name;
  std::uint32_t pixels_a_thread;
  std::vector<std::byte> table;  // ConvertArgs::table

  struct Grid {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
  };
  /// The blocks, of k_block_threads, for a batch.
  Grid grid(const ConvertArgs& args) const;
};

}  // namespace bale::cuda_detail
