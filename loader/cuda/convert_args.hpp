// What the kernels are told: plain data, laid out alike on the host and on the device.
#pragma once

#include <cstdint>

namespace bale::cuda_detail {

/// One image of a batch.
struct ConvertRow {
  std::uint32_t width = 0;  // of what is there, from the top left; the rest of the output is zeros (0 x 0: all of it)
  std::uint32_t height = 0;
  std::uint32_t mirrored = 0;  // left to right
  std::uint32_t partner = 0;   // the row that is mixed in, or pasted
  float share = 1;             // of this row
  float rest = 0;              // of the partner; 0: nothing is mixed
  // Columns and rows of the output that are the partner's alone; nothing where they are empty.
  std::uint32_t box_left = 0;
  std::uint32_t box_top = 0;
  std::uint32_t box_right = 0;
  std::uint32_t box_bottom = 0;
};

struct ConvertArgs {
  const std::uint8_t* in = nullptr;  // num_images x height x width x 3
  const ConvertRow* rows = nullptr;  // num_images
  const void* table = nullptr;       // 3 x 256: what a channel's value becomes; of the output's type, floats to mix
  void* out = nullptr;               // num_images x height x width x 3, or x 3 x height x width
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t num_images = 0;
};

// ConvertArgs is one parameter of the kernels: both compilers must lay it out alike.
static_assert(sizeof(ConvertRow) == 40 && sizeof(ConvertArgs) == 48);

inline constexpr std::uint32_t k_block_threads = 256;

}  // namespace bale::cuda_detail
