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

// The arguments of the kernels that resize decoded images: plain data with the same layout on host and device.

/// One axis: a part of the decoded image is resized, and the output shows some of the result.
struct ResizeAxis {
  std::uint32_t origin = 0;       // where the part begins in the decoded image
  std::uint32_t input = 0;        // pixels of the part
  std::uint32_t output = 0;       // pixels of the part after resizing
  std::uint32_t first = 0;        // the position of the result that the output begins with
  std::uint32_t mirrored = 0;     // the output shows the positions in reverse
  std::uint32_t entry_words = 0;  // of the table, per position of the output: first tap, number of taps, weights
  std::uint64_t table = 0;        // the entry of the first position, in words from ResizeArgs::table
};

/// One image of a batch.
struct ResizeRow {
  std::uint64_t decoded = 0;     // its pixels, in bytes from ResizeArgs::decoded
  std::uint32_t pitch = 0;       // bytes from one row of pixels to the next; 0: this image is not resized
  std::uint32_t cubic = 0;       // the filter; else it is bilinear
  std::uint32_t down_first = 0;  // the pass over the rows is the first one
  std::uint32_t reserved = 0;
  ResizeAxis across{};
  ResizeAxis down{};
};

struct ResizeArgs {
  const std::uint8_t* decoded = nullptr;  // RGB
  const ResizeRow* rows = nullptr;        // num_images
  std::int32_t* table = nullptr;          // for each image that is resized, width + height entries
  std::uint8_t* out = nullptr;            // num_images x height x width x 3
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t num_images = 0;
};

// ResizeArgs is a kernel parameter: both compilers must use the same layout.
static_assert(sizeof(ResizeAxis) == 32 && sizeof(ResizeRow) == 88 && sizeof(ResizeArgs) == 48);

}  // namespace bale::cuda_detail
