// Compiled without floating-point contraction.
#include "bale/formats/image/warp/warp_nearest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace bale::image_detail {
namespace {

template <std::uint32_t channels>
void fill_row(const Fill& fill, std::uint32_t width, std::uint8_t* out) {
  for (std::uint32_t x = 0; x < width; ++x, out += channels) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) out[channel] = fill[channel];
  }
}

template <std::uint32_t channels>
void copy_pixel(const std::uint8_t* from, std::uint8_t* to) {
  for (std::uint32_t channel = 0; channel < channels; ++channel) to[channel] = from[channel];
}

/// Whether a position is inside an axis. Positions below 0 are outside, even if they would be truncated to 0.
bool is_inside(double position, std::uint32_t size) { return position >= 0 && position < size; }

/// The map of one output row, by steps in double.
template <std::uint32_t channels>
void row_in_double(const Raster& source, double x_in, double y_in, double x_step, double y_step, std::uint32_t width,
                   std::uint8_t* out) {
  for (std::uint32_t x = 0; x < width; ++x, out += channels) {
    if (is_inside(x_in, source.width) && is_inside(y_in, source.height)) {
      const std::size_t at = static_cast<std::size_t>(y_in) * source.width + static_cast<std::size_t>(x_in);
      copy_pixel<channels>(source.pixels + at * channels, out);
    }
    x_in += x_step;
    y_in += y_step;
  }
}

template <std::uint32_t channels>
void warp_in_double(const Raster& source, const std::array<double, 6>& m, const Fill& fill, const RasterOut& out) {
  double x_start = m[2] + m[1] * 0.5 + m[0] * 0.5;
  double y_start = m[5] + m[4] * 0.5 + m[3] * 0.5;
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += std::size_t{out.width} * channels) {
    fill_row<channels>(fill, out.width, row);
    row_in_double<channels>(source, x_start, y_start, m[0], m[3], out.width, row);
    x_start += m[1];
    y_start += m[4];
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
  const auto copy = [&](std::uint32_t i) {
    const std::size_t at = std::size_t{line.line(i)} * source.width + line.column(i);
    copy_pixel<channels>(source.pixels + at * channels, out + std::size_t{i} * channels);
  };
  std::uint32_t first = 0;
  while (first < width && !is_inside(first)) ++first;
  std::uint32_t end = width;
  while (end > first && !is_inside(end - 1)) --end;
  // The positions lie on a line, so those between two that are inside are inside. They could wrap around only if both
  // ends were near 32768.
  if (source.width > 16384 || source.height > 16384) {
    for (std::uint32_t i = first; i < end; ++i) {
      if (is_inside(i)) copy(i);
    }
    return;
  }
  for (std::uint32_t i = first; i < end; ++i) copy(i);
}

template <std::uint32_t channels>
void warp_in_fixed(const Raster& source, const std::array<double, 6>& m, const Fill& fill, const RasterOut& out) {
  const std::uint32_t x_step = to_fixed(m[0]);
  const std::uint32_t y_step = to_fixed(m[3]);
  std::uint32_t x_start = to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  std::uint32_t y_start = to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += std::size_t{out.width} * channels) {
    fill_row<channels>(fill, out.width, row);
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
    // Without rotation. Pillow sums in another order, but what it adds is 0.
    return warp_in_double<channels>(source, m, fill, out);
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
