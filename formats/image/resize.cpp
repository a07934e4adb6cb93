// Pillow's antialiased resampling, bit for bit (its Resample.c, 8 bits a channel): weights in double,
// normalised to a sum of 1, rounded to fixed point with 22 bits of fraction; a pass over the columns and
// one over the rows, each rounded to 8 bits. This file is built without contraction of a * b + c: a fused step would
// change weights by one.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/image/codec.hpp"

namespace bale {
namespace {

constexpr int k_fraction_bits = 32 - 8 - 2;
constexpr std::int32_t k_half = 1 << (k_fraction_bits - 1);
constexpr std::uint64_t k_max_pixels = 1u << 30;

/// Positions [first, first + count) of a resized axis.
struct Window {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What one position of the resized axis is made of: weights for `count` neighbours from `first` on.
struct Taps {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::size_t weights = 0;  // index of the first weight
};

struct AxisFilter {
  std::vector<Taps> taps;
  std::vector<std::int32_t> weights;
  std::uint32_t input_first = 0;  // the part of the input axis that any tap touches
  std::uint32_t input_end = 0;
};

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

AxisFilter make_filter(std::uint32_t input, std::uint32_t output, Window window) {
  const double scale = static_cast<double>(input) / output;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale;  // the triangle reaches one pixel of the coarser grid
  AxisFilter filter;
  filter.taps.reserve(window.count);
  filter.input_first = input;
  std::vector<double> raw;
  for (std::uint32_t i = 0; i < window.count; ++i) {
    const double center = (window.first + i + 0.5) * scale;
    const double low = center - support + 0.5;
    const double high = center + support + 0.5;
    const auto first = low > 0 ? static_cast<std::uint32_t>(low) : 0u;
    const auto end = static_cast<std::uint32_t>(std::min(high, static_cast<double>(input)));
    double sum = 0;
    raw.clear();
    for (std::uint32_t x = first; x < end; ++x) {
      const double weight = triangle((static_cast<double>(x) - center + 0.5) * (1.0 / filter_scale));
      raw.push_back(weight);
      sum += weight;
    }
    filter.taps.push_back({first, end - first, filter.weights.size()});
    for (const double weight : raw) {
      const double normalised = sum != 0.0 ? weight / sum : weight;
      filter.weights.push_back(static_cast<std::int32_t>(0.5 + normalised * (1 << k_fraction_bits)));
    }
    filter.input_first = std::min(filter.input_first, first);
    filter.input_end = std::max(filter.input_end, end);
  }
  return filter;
}

std::uint8_t round_to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> k_fraction_bits, 0, 255));
}

/// A rectangle of pixels: `rows` rows of `columns` pixels, `stride` bytes apart; borrows.
struct View {
  const std::uint8_t* data;
  std::size_t stride;
  std::size_t columns;
  std::size_t rows;
};

void resample_row(const std::uint8_t* in, const AxisFilter& filter, std::uint8_t* out) {
  for (const Taps& tap : filter.taps) {
    const std::uint8_t* pixel = in + std::size_t{tap.first - filter.input_first} * 3;
    const std::int32_t* weight = filter.weights.data() + tap.weights;
    std::int32_t red = k_half;
    std::int32_t green = k_half;
    std::int32_t blue = k_half;
    for (std::uint32_t i = 0; i < tap.count; ++i, pixel += 3) {
      red += pixel[0] * weight[i];
      green += pixel[1] * weight[i];
      blue += pixel[2] * weight[i];
    }
    out[0] = round_to_byte(red);
    out[1] = round_to_byte(green);
    out[2] = round_to_byte(blue);
    out += 3;
  }
}

/// The columns of `in`, which starts at the filter's first input, turned into those of the filter.
std::vector<std::uint8_t> resample_across(const View& in, const AxisFilter& filter) {
  const std::size_t stride = filter.taps.size() * 3;
  std::vector<std::uint8_t> out(stride * in.rows);
  for (std::size_t y = 0; y < in.rows; ++y) resample_row(in.data + y * in.stride, filter, out.data() + y * stride);
  return out;
}

/// The rows of `in`, which starts at the filter's first input, turned into those of the filter.
std::vector<std::uint8_t> resample_down(const View& in, const AxisFilter& filter) {
  const std::size_t stride = in.columns * 3;
  std::vector<std::uint8_t> out(stride * filter.taps.size());
  std::vector<std::int32_t> sums(stride);
  std::uint8_t* to = out.data();
  for (const Taps& tap : filter.taps) {
    std::fill(sums.begin(), sums.end(), k_half);
    for (std::uint32_t i = 0; i < tap.count; ++i) {
      const std::uint8_t* row = in.data + (tap.first - filter.input_first + i) * in.stride;
      const std::int32_t weight = filter.weights[tap.weights + i];
      for (std::size_t x = 0; x < stride; ++x) sums[x] += row[x] * weight;
    }
    for (std::size_t x = 0; x < stride; ++x) to[x] = round_to_byte(sums[x]);
    to += stride;
  }
  return out;
}

/// Which pass comes first changes the rounding. Pillow took columns first always, until 12.1; since 13.0 it
/// takes rows first where the height shrinks by more than twice as many pixels as the width does.
bool rows_come_first(const Image& image, std::uint32_t width, std::uint32_t height) {
  const auto lost = [](std::uint32_t before, std::uint32_t after) { return std::int64_t{before} - after; };
  const std::int64_t lost_rows = lost(image.height, height);
  return lost_rows > 0 && lost_rows > 2 * lost(image.width, width);
}

/// The `columns` x `rows` part of `image` resized to width x height; only what it needs is computed.
Image resample(const Image& image, std::uint32_t width, std::uint32_t height, Window columns, Window rows) {
  const AxisFilter across = make_filter(image.width, width, columns);
  const AxisFilter down = make_filter(image.height, height, rows);
  const std::size_t stride = std::size_t{image.width} * 3;
  const View needed{image.rgb.data() + down.input_first * stride + std::size_t{across.input_first} * 3, stride,
                    across.input_end - across.input_first, down.input_end - down.input_first};
  Image out{.width = columns.count, .height = rows.count};
  if (rows_come_first(image, width, height)) {
    const std::vector<std::uint8_t> low = resample_down(needed, down);
    out.rgb = resample_across({low.data(), needed.columns * 3, needed.columns, rows.count}, across);
  } else {
    const std::vector<std::uint8_t> narrow = resample_across(needed, across);
    out.rgb = resample_down({narrow.data(), columns.count * std::size_t{3}, columns.count, needed.rows}, down);
  }
  return out;
}

void check_target(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0 || width > k_max_pixels / height) {
    throw Error(ErrorCode::invalid_argument, fmt::format("cannot resize to {}x{} pixels", width, height));
  }
}

/// Half of what is left beside the square, as Python's round(x / 2) gives it: ties to even.
std::uint32_t center_offset(std::uint32_t rest) {
  const std::uint32_t half = rest / 2;
  return rest % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

}  // namespace

Image resize_image(const Image& image, std::uint32_t width, std::uint32_t height) {
  image_detail::check_pixels(image);
  check_target(width, height);
  if (width == image.width && height == image.height) return image;
  return resample(image, width, height, {0, width}, {0, height});
}

Image resize_and_center_crop(const Image& image, std::uint32_t size) {
  image_detail::check_pixels(image);
  check_target(size, size);
  const std::uint32_t shorter = std::min(image.width, image.height);
  const std::uint32_t longer = std::max(image.width, image.height);
  // torchvision: int(size * long / short), a division of Python floats.
  const double scaled = static_cast<double>(std::uint64_t{size} * longer) / shorter;
  if (scaled > static_cast<double>(k_max_pixels)) {
    throw Error(ErrorCode::unsupported, fmt::format("image of {}x{} pixels is too long and thin to resize to {}",
                                                    image.width, image.height, size));
  }
  const auto long_side = static_cast<std::uint32_t>(scaled);
  const bool wide = image.width >= image.height;
  const std::uint32_t width = wide ? long_side : size;
  const std::uint32_t height = wide ? size : long_side;
  return resample(image, width, height, {center_offset(width - size), size}, {center_offset(height - size), size});
}

}  // namespace bale
