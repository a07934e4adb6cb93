#include <algorithm>
#include <cmath>
#include <cstring>

#include "bale/formats/image/resample/resample_kernels.hpp"

namespace bale::image_detail {

void resample_across_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.rgb + y * in.stride;
    std::uint8_t* to = out.rgb + y * out.stride;
    for (std::uint32_t x = 0; x < filter.size(); ++x, to += 3) {
      const std::uint8_t* pixel = row + std::size_t{filter.first(x)} * 3;
      const std::int32_t* weights = filter.weights(x);
      std::int32_t sums[3] = {k_half, k_half, k_half};
      for (std::uint32_t i = 0; i < filter.num_taps(x); ++i, pixel += 3) {
        for (int channel = 0; channel < 3; ++channel) sums[channel] += pixel[channel] * weights[i];
      }
      for (int channel = 0; channel < 3; ++channel) to[channel] = round_to_byte(sums[channel]);
    }
  }
}

void resample_down_plain(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  constexpr std::size_t k_strip_bytes = 256;  // the sums of a strip stay in registers and L1 cache
  std::int32_t sums[k_strip_bytes];
  const std::size_t row_bytes = std::size_t{in.width} * in.pixel_bytes;
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const std::int32_t* weights = filter.weights(y);
    for (std::size_t begin = 0; begin < row_bytes; begin += k_strip_bytes) {
      const std::size_t count = std::min(k_strip_bytes, row_bytes - begin);
      const std::uint8_t* row = in.rgb + filter.first(y) * in.stride + begin;
      std::fill_n(sums, count, k_half);
      for (std::uint32_t i = 0; i < filter.num_taps(y); ++i, row += in.stride) {
        for (std::size_t x = 0; x < count; ++x) sums[x] += row[x] * weights[i];
      }
      std::uint8_t* to = out.rgb + y * out.stride + begin;
      for (std::size_t x = 0; x < count; ++x) to[x] = round_to_byte(sums[x]);
    }
  }
}

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

// The pass over the columns for pixels of one or four bytes: strips of rows are transposed, go through the pass over
// the rows, whose sums are the same, and are transposed back.

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

// Both passes over values of 16 bits, as Pillow does for mode I;16: sums in double, each pass rounded to 16 bits. Built
// without contraction of a * b + c. Source: Pillow's Resample.c.

namespace {

std::uint16_t value_at(const std::uint8_t* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void store_rounded(double sum, std::uint8_t* out) {
  const auto value = static_cast<std::uint16_t>(std::clamp(std::floor(sum + 0.5), 0.0, 65535.0));
  std::memcpy(out, &value, sizeof value);
}

}  // namespace

void resample_across_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < in.height; ++y) {
    const std::uint8_t* const row = in.rgb + y * in.stride;
    for (std::uint32_t x = 0; x < filter.size(); ++x) {
      const double* const weights = filter.exact_weights(x);
      double sum = 0;
      for (std::uint32_t i = 0; i < filter.num_taps(x); ++i) {
        sum += value_at(row + (std::size_t{filter.first(x)} + i) * 2) * weights[i];
      }
      store_rounded(sum, out.rgb + y * out.stride + std::size_t{x} * 2);
    }
  }
}

void resample_down_16(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const double* const weights = filter.exact_weights(y);
    for (std::uint32_t x = 0; x < in.width; ++x) {
      const std::uint8_t* at = in.rgb + filter.first(y) * in.stride + std::size_t{x} * 2;
      double sum = 0;
      for (std::uint32_t i = 0; i < filter.num_taps(y); ++i, at += in.stride) sum += value_at(at) * weights[i];
      store_rounded(sum, out.rgb + y * out.stride + std::size_t{x} * 2);
    }
  }
}

}  // namespace bale::image_detail
