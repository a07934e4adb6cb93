// Compiled without floating-point contraction.
#include "bale/formats/image/warp/warp.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace bale::image_detail {
namespace {

/// A row of the fill, which is copied faster than it is made.
template <std::uint32_t channels>
std::vector<std::uint8_t> filled_row(const Fill& fill, std::uint32_t width) {
  std::vector<std::uint8_t> row(std::size_t{width} * channels);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = fill[i % channels];
  return row;
}

/// Whether a position is inside an axis. Positions below 0 are outside, even if they would be truncated to 0.
bool is_inside(double position, std::uint32_t size) { return position >= 0 && position < size; }

/// The map of one output row, by steps in double.
template <std::uint32_t channels>
void row_in_double(const Raster& source, double x_in, double y_in, double x_step, double y_step, std::uint32_t width,
                   std::uint8_t* out) {
  const PixelCopier<channels> copier(source);
  for (std::uint32_t x = 0; x < width; ++x, out += channels) {
    if (is_inside(x_in, source.width) && is_inside(y_in, source.height)) {
      const std::size_t at = static_cast<std::size_t>(y_in) * source.width + static_cast<std::size_t>(x_in);
      copier.copy_last(at, out);
    }
    x_in += x_step;
    y_in += y_step;
  }
}

template <std::uint32_t channels>
void warp_in_double(const Raster& source, const std::array<double, 6>& m, const Fill& fill, const RasterOut& out) {
  double x_start = m[2] + m[1] * 0.5 + m[0] * 0.5;
  double y_start = m[5] + m[4] * 0.5 + m[3] * 0.5;
  const std::vector<std::uint8_t> filled = filled_row<channels>(fill, out.width);
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += filled.size()) {
    std::memcpy(row, filled.data(), filled.size());
    row_in_double<channels>(source, x_start, y_start, m[0], m[3], out.width, row);
    x_start += m[1];
    y_start += m[4];
  }
}

/// The map without rotation: every row takes the same columns.
template <std::uint32_t channels>
void warp_without_rotation(const Raster& source, const std::array<double, 6>& m, const Fill& fill,
                           const RasterOut& out) {
  std::vector<std::uint32_t> columns;  // those inside are neighbors, from `first` on
  std::uint32_t first = 0;
  double x_in = m[2] + m[0] * 0.5;
  for (std::uint32_t x = 0; x < out.width; ++x, x_in += m[0]) {
    if (!is_inside(x_in, source.width)) continue;
    if (columns.empty()) first = x;
    columns.push_back(static_cast<std::uint32_t>(x_in));
  }
  const PixelCopier<channels> copier(source);
  const std::vector<std::uint8_t> filled = filled_row<channels>(fill, out.width);
  const std::size_t stride = filled.size();
  double y_in = m[5] + m[4] * 0.5;
  std::size_t line_before = source.height;
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += stride, y_in += m[4]) {
    const std::size_t line = is_inside(y_in, source.height) ? static_cast<std::size_t>(y_in) : source.height;
    if (y > 0 && line == line_before) {
      std::memcpy(row, row - stride, stride);
      continue;
    }
    line_before = line;
    std::memcpy(row, filled.data(), filled.size());
    if (line == source.height || columns.empty()) continue;
    std::uint8_t* to = row + std::size_t{first} * channels;
    const std::size_t start = line * source.width;
    const std::size_t count = columns.size() - 1;
    if (line + 1 < source.height) {
      for (std::size_t i = 0; i < count; ++i, to += channels) copier.copy_before_last(start + columns[i], to);
    } else {
      for (std::size_t i = 0; i < count; ++i, to += channels) copier.copy(start + columns[i], to);
    }
    copier.copy_last(line * source.width + columns.back(), to);
  }
}

/// 16.16 fixed point, rounded. What does not fit becomes the lowest number, as on x86.
std::uint32_t to_fixed(double value) {
  const double rounded = std::floor(value * 65536.0 + 0.5);
  constexpr double k_limit = 2147483648.0;
  const bool fits = rounded >= -k_limit && rounded < k_limit;
  return static_cast<std::uint32_t>(fits ? static_cast<std::int32_t>(rounded)
                                         : std::numeric_limits<std::int32_t>::min());
}

/// The positions of an output row in 16.16 fixed point, modulo 2^32.
struct FixedLine {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t x_step;
  std::uint32_t y_step;

  /// The whole part; a position below 0 becomes a large number.
  std::uint32_t column(std::uint32_t i) const { return whole(x + i * x_step); }
  std::uint32_t line(std::uint32_t i) const { return whole(y + i * y_step); }
  static std::uint32_t whole(std::uint32_t fixed) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(fixed) >> 16);
  }
};

template <std::uint32_t channels>
void row_in_fixed(const Raster& source, const FixedLine& line, std::uint32_t width, std::uint8_t* out) {
  const auto is_inside = [&](std::uint32_t i) { return line.column(i) < source.width && line.line(i) < source.height; };
  const PixelCopier<channels> copier(source);
  const auto number = [&](std::uint32_t i) { return std::size_t{line.line(i)} * source.width + line.column(i); };
  std::uint32_t first = 0;
  while (first < width && !is_inside(first)) ++first;
  std::uint32_t end = width;
  while (end > first && !is_inside(end - 1)) --end;
  // The positions lie on a line, so those between two that are inside are inside. They could wrap around only if both
  // ends were near 32768.
  if (source.width > 16384 || source.height > 16384) {
    for (std::uint32_t i = first; i < end; ++i) {
      if (is_inside(i)) copier.copy_last(number(i), out + std::size_t{i} * channels);
    }
    return;
  }
  if (first == end) return;
  std::uint8_t* to = out + std::size_t{first} * channels;
  for (std::uint32_t i = first; i + 1 < end; ++i, to += channels) copier.copy(number(i), to);
  copier.copy_last(number(end - 1), to);
}

template <std::uint32_t channels>
void warp_in_fixed(const Raster& source, const std::array<double, 6>& m, const Fill& fill, const RasterOut& out) {
  const std::uint32_t x_step = to_fixed(m[0]);
  const std::uint32_t y_step = to_fixed(m[3]);
  std::uint32_t x_start = to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  std::uint32_t y_start = to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  const std::vector<std::uint8_t> filled = filled_row<channels>(fill, out.width);
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += filled.size()) {
    std::memcpy(row, filled.data(), filled.size());
    row_in_fixed<channels>(source, {x_start, y_start, x_step, y_step}, out.width, row);
    x_start += to_fixed(m[1]);
    y_start += to_fixed(m[4]);
  }
}

bool fits_fixed(const std::array<double, 6>& m, double x, double y) {
  return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 && std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
}

template <std::uint32_t channels>
void warp(const Raster& source, const std::array<double, 6>& m, const Fill& fill, const RasterOut& out) {
  if (m[1] == 0 && m[3] == 0) {
    // Pillow sums in another order, but what it adds is 0.
    return warp_without_rotation<channels>(source, m, fill, out);
  }
  if (fits_fixed(m, 0, 0) && fits_fixed(m, out.width, out.height) && fits_fixed(m, 0, out.height) &&
      fits_fixed(m, out.width, 0)) {
    return warp_in_fixed<channels>(source, m, fill, out);
  }
  warp_in_double<channels>(source, m, fill, out);
}

}  // namespace

void warp_nearest(const Raster& source, const std::array<double, 6>& matrix, const Fill& fill, const RasterOut& out) {
  source.channels == 3 ? warp<3>(source, matrix, fill, out) : warp<1>(source, matrix, fill, out);
}

}  // namespace bale::image_detail
