// The pass over the columns for pixels of one or four bytes: strips of rows are transposed, go through the pass over
// the rows, whose sums are the same, and are transposed back.
#include <algorithm>
#include <cstring>

#include "bale/formats/image/resample/resample_kernels.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_strip_bytes = 128;  // of a transposed row: some vectors of any instruction set

/// Exchanges halves of `a` and `b`: those that `mask` selects in `b`, and those `shift` bits above in `a`.
void exchange(std::uint64_t& a, std::uint64_t& b, unsigned shift, std::uint64_t mask) {
  const std::uint64_t changed = ((a >> shift) ^ b) & mask;
  b ^= changed;
  a ^= changed << shift;
}

/// Transposes 8 x 8 bytes, in the order of a little-endian machine.
void transpose_block(std::uint64_t* rows) {
  for (std::size_t i = 0; i < 4; ++i) exchange(rows[i], rows[i + 4], 32, 0x00000000FFFFFFFF);
  for (const std::size_t i : {0, 1, 4, 5}) exchange(rows[i], rows[i + 2], 16, 0x0000FFFF0000FFFF);
  for (const std::size_t i : {0, 2, 4, 6}) exchange(rows[i], rows[i + 1], 8, 0x00FF00FF00FF00FF);
}

struct Grid {
  const std::uint8_t* pixels;
  std::size_t stride;
  std::size_t rows;
  std::size_t columns;
};

template <std::size_t pixel_bytes>
void transpose_part(const Grid& in, std::size_t first_row, std::size_t first_column, std::uint8_t* out,
                    std::size_t out_stride) {
  for (std::size_t y = first_row; y < in.rows; ++y) {
    for (std::size_t x = first_column; x < in.columns; ++x) {
      std::memcpy(out + x * out_stride + y * pixel_bytes, in.pixels + y * in.stride + x * pixel_bytes, pixel_bytes);
    }
  }
}

void transpose_bytes(const Grid& in, std::uint8_t* out, std::size_t out_stride) {
  const std::size_t rows = in.rows / 8 * 8;
  const std::size_t columns = in.columns / 8 * 8;
  std::uint64_t block[8];
  for (std::size_t y = 0; y < rows; y += 8) {
    for (std::size_t x = 0; x < columns; x += 8) {
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(block + i, in.pixels + (y + i) * in.stride + x, 8);
      transpose_block(block);
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + (x + i) * out_stride + y, block + i, 8);
    }
  }
  transpose_part<1>({in.pixels, in.stride, rows, in.columns}, 0, columns, out, out_stride);
  transpose_part<1>(in, rows, 0, out, out_stride);
}

void transpose(const Grid& in, std::uint32_t pixel_bytes, std::uint8_t* out, std::size_t out_stride) {
  pixel_bytes == 1 ? transpose_bytes(in, out, out_stride) : transpose_part<4>(in, 0, 0, out, out_stride);
}

}  // namespace

void resample_across_any(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch) {
  const std::size_t rows_of_strip = k_strip_bytes / in.pixel_bytes;
  const std::size_t before_bytes = std::size_t{in.width} * k_strip_bytes;
  const std::size_t needed = before_bytes + std::size_t{filter.size()} * k_strip_bytes;
  if (scratch.rows.size() < needed) scratch.rows.resize(needed);
  std::uint8_t* const before = scratch.rows.data();
  std::uint8_t* const after = before + before_bytes;
  for (std::size_t y = 0; y < in.height; y += rows_of_strip) {
    const std::size_t count = std::min<std::size_t>(rows_of_strip, in.height - y);
    transpose({in.rgb + y * in.stride, in.stride, count, in.width}, in.pixel_bytes, before, k_strip_bytes);
    resample_down({.rgb = before,
                   .stride = k_strip_bytes,
                   .width = static_cast<std::uint32_t>(rows_of_strip),
                   .height = in.width,
                   .pixel_bytes = in.pixel_bytes},
                  filter, {after, k_strip_bytes});
    transpose({after, k_strip_bytes, filter.size(), count}, in.pixel_bytes, out.rgb + y * out.stride, out.stride);
  }
}

}  // namespace bale::image_detail
