// The arguments of the kernels: plain data with the same layout on host and device.
#pragma once

#include <cstdint>

namespace bale::cuda_detail {

/// One image of a batch.
struct ConvertRow {
  std::uint32_t width = 0;  // of the image at the top left; the rest of the output is zeros (0 x 0: no image)
  std::uint32_t height = 0;
  std::uint32_t mirrored = 0;  // left to right
  std::uint32_t partner = 0;   // the row that is mixed in or pasted
  float share = 1;             // of this row
  float rest = 0;              // of the partner; 0: not mixed
  // The box of the output that comes from the partner alone; it may be empty.
  std::uint32_t box_left = 0;
  std::uint32_t box_top = 0;
  std::uint32_t box_right = 0;
  std::uint32_t box_bottom = 0;
};

struct ConvertArgs {
  const std::uint8_t* in = nullptr;  // num_images x height x width x 3
  const ConvertRow* rows = nullptr;  // num_images
  const void* table = nullptr;       // 3 x 256: converted values per channel; of the output's type, or float to mix
  void* out = nullptr;               // num_images x height x width x 3, or x 3 x height x width
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t num_images = 0;
};

// ConvertArgs is a kernel parameter: both compilers must use the same layout.
static_assert(sizeof(ConvertRow) == 40 && sizeof(ConvertArgs) == 48);

inline constexpr std::uint32_t k_block_threads = 256;

}  // namespace bale::cuda_detail
