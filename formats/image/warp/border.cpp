#include "bale/formats/image/warp/warp.hpp"

#include <algorithm>
#include <cstring>

namespace bale::image_detail {
namespace {

std::uint32_t modulo(std::int64_t at, std::int64_t size) {
  const std::int64_t rest = at % size;
  return static_cast<std::uint32_t>(rest < 0 ? rest + size : rest);
}

std::uint32_t mirrored(std::int64_t at, std::uint32_t size) {
  const std::uint32_t place = modulo(at, std::int64_t{size} * 2);
  return place < size ? place : size * 2 - 1 - place;
}

/// The position inside an axis that a position outside copies.
std::uint32_t copied(std::int64_t at, std::uint32_t size, PadMode mode) {
  if (mode == PadMode::reflect) return reflected(at, size);
  if (mode == PadMode::symmetric) return mirrored(at, size);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(at, 0, size - 1));
}

void fill_pixels(const Fill& fill, std::uint32_t channels, std::size_t count, std::uint8_t* out) {
  if (channels == 1 || (fill[0] == fill[1] && fill[1] == fill[2])) {
    std::memset(out, fill[0], count * channels);
    return;
  }
  for (std::size_t i = 0; i < count; ++i, out += 3) std::copy(fill.begin(), fill.end(), out);
}

/// A row of the source with its pixels at both sides.
void pad_row(const Raster& source, std::uint32_t y, std::uint32_t left, PadMode mode, std::uint32_t width,
             std::uint8_t* out) {
  const std::uint32_t channels = source.channels;
  const std::uint8_t* row = source.pixels + y * source.stride();
  const auto copy = [&](std::uint32_t x) {
    const std::uint32_t from = copied(std::int64_t{x} - left, source.width, mode);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      out[std::size_t{x} * channels + channel] = row[std::size_t{from} * channels + channel];
    }
  };
  for (std::uint32_t x = 0; x < left; ++x) copy(x);
  std::memcpy(out + std::size_t{left} * channels, row, source.stride());
  for (std::uint32_t x = left + source.width; x < width; ++x) copy(x);
}

void pad_with_fill(const Raster& source, std::uint32_t left, std::uint32_t top, const Fill& fill,
                   const RasterOut& out) {
  const std::size_t stride = std::size_t{out.width} * source.channels;
  const std::uint32_t right = out.width - left - source.width;
  const std::uint32_t bottom = out.height - top - source.height;
  fill_pixels(fill, source.channels, std::size_t{top} * out.width, out.pixels);
  std::uint8_t* row = out.pixels + top * stride;
  for (std::uint32_t y = 0; y < source.height; ++y, row += stride) {
    fill_pixels(fill, source.channels, left, row);
    std::memcpy(row + std::size_t{left} * source.channels, source.pixels + y * source.stride(), source.stride());
    fill_pixels(fill, source.channels, right, row + std::size_t{left} * source.channels + source.stride());
  }
  fill_pixels(fill, source.channels, std::size_t{bottom} * out.width, row);
}

}  // namespace

std::uint32_t reflected(std::int64_t at, std::uint32_t size) {
  if (size == 1) return 0;
  const std::uint32_t period = (size - 1) * 2;
  const std::uint32_t place = modulo(at, period);
  return place < size ? place : period - place;
}

void pad(const Raster& source, std::uint32_t left, std::uint32_t top, PadMode mode, const Fill& fill,
         const RasterOut& out) {
  if (mode == PadMode::constant) return pad_with_fill(source, left, top, fill, out);
  const std::size_t stride = std::size_t{out.width} * source.channels;
  for (std::uint32_t y = 0; y < source.height; ++y) {
    pad_row(source, y, left, mode, out.width, out.pixels + (std::size_t{top} + y) * stride);
  }
  const auto copy_row = [&](std::uint32_t y) {
    const std::uint32_t from = top + copied(std::int64_t{y} - top, source.height, mode);
    std::memcpy(out.pixels + y * stride, out.pixels + from * stride, stride);
  };
  for (std::uint32_t y = 0; y < top; ++y) copy_row(y);
  for (std::uint32_t y = top + source.height; y < out.height; ++y) copy_row(y);
}

void crop(const Raster& source, std::int64_t left, std::int64_t top, const RasterOut& out) {
  const std::size_t stride = std::size_t{out.width} * source.channels;
  const std::int64_t first = std::clamp<std::int64_t>(left, 0, source.width);
  const std::int64_t last = std::clamp<std::int64_t>(left + out.width, first, source.width);
  const std::size_t count = static_cast<std::size_t>(last - first) * source.channels;
  const std::size_t before = count == 0 ? 0 : static_cast<std::size_t>(first - left) * source.channels;
  for (std::uint32_t y = 0; y < out.height; ++y) {
    std::uint8_t* row = out.pixels + y * stride;
    const std::int64_t line = top + y;
    if (line < 0 || line >= source.height || count == 0) {
      std::memset(row, 0, stride);
      continue;
    }
    const std::uint8_t* from = source.pixels + static_cast<std::size_t>(line) * source.stride();
    std::memset(row, 0, before);
    std::memcpy(row + before, from + static_cast<std::size_t>(first) * source.channels, count);
    std::memset(row + before + count, 0, stride - before - count);
  }
}

}  // namespace bale::image_detail
