#include "bale/formats/image/resample/resample_scratch.hpp"

#include <algorithm>
#include <cstring>

namespace bale::image_detail {
namespace {

/// Never shrinks, so that nothing is cleared twice.
template <class T>
void grow(std::vector<T>& memory, std::size_t size) {
  if (memory.size() < size) memory.resize(size);
}

}  // namespace

void reserve_table(std::size_t num_pixels, std::size_t num_quads, ResampleScratch& scratch) {
  grow(scratch.offsets, num_pixels);
  grow(scratch.table, num_pixels * num_quads);
}

RowSplit split_rows(const PixelView& in, std::size_t reach, ResampleScratch& scratch) {
  const std::size_t row_bytes = std::size_t{in.width} * 3;
  const std::size_t end = (in.height - 1) * in.stride + row_bytes;
  RowSplit split;
  if (reach <= row_bytes) {
    split.num_direct = in.height;
  } else if (reach <= end) {
    split.num_direct = static_cast<std::uint32_t>(std::min<std::size_t>((end - reach) / in.stride + 1, in.height));
  }
  const std::uint32_t num_copied = in.height - split.num_direct;
  if (num_copied == 0) return split;
  split.copied_stride = std::max(reach, row_bytes);
  grow(scratch.rows, split.copied_stride * num_copied);
  split.copied = scratch.rows.data();
  for (std::uint32_t i = 0; i < num_copied; ++i) {
    std::memcpy(scratch.rows.data() + i * split.copied_stride, in.rgb + (split.num_direct + i) * in.stride, row_bytes);
  }
  return split;
}

}  // namespace bale::image_detail
