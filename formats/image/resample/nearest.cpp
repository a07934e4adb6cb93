// Compiled without floating-point contraction.
#include "bale/formats/image/resample/nearest.hpp"

#include <algorithm>
#include <cstring>

namespace bale::image_detail {
namespace {

/// Calls take(i, input position) for each of the positions, in rising order.
template <class Take>
void for_each_position(const AxisSpec& spec, const Take& take) {
  const double step = static_cast<double>(spec.input) / spec.output;
  double at = step * 0.5;
  for (std::uint32_t i = 0; i < spec.first; ++i) at += step;
  for (std::uint32_t i = 0; i < spec.count; ++i, at += step) {
    take(i, std::min(static_cast<std::uint32_t>(at), spec.input - 1));
  }
}

/// The input positions, counted from the first that is needed.
void positions_of(const AxisSpec& spec, std::uint32_t scale, std::vector<std::uint32_t>& positions) {
  positions.resize(spec.count);
  std::uint32_t origin = 0;
  for_each_position(spec, [&](std::uint32_t i, std::uint32_t position) {
    if (i == 0) origin = position;
    positions[spec.mirror ? spec.count - 1 - i : i] = (position - origin) * scale;
  });
}

template <std::size_t pixel_bytes>
void gather(const std::uint8_t* row, const std::vector<std::uint32_t>& columns, std::uint8_t* out) {
  for (const std::uint32_t column : columns) {
    for (std::size_t i = 0; i < pixel_bytes; ++i) out[i] = row[column + i];
    out += pixel_bytes;
  }
}

void gather_any(const std::uint8_t* row, const std::vector<std::uint32_t>& columns, std::uint32_t pixel_bytes,
                std::uint8_t* out) {
  switch (pixel_bytes) {
    case 1:
      return gather<1>(row, columns, out);
    case 2:
      return gather<2>(row, columns, out);
    case 3:
      return gather<3>(row, columns, out);
    default:
      return gather<4>(row, columns, out);
  }
}

}  // namespace

AxisSpan nearest_needs(const AxisSpec& spec) {
  AxisSpan span;
  for_each_position(spec, [&](std::uint32_t i, std::uint32_t position) {
    if (i == 0) span.first = position;
    span.end = position + 1;
  });
  return span;
}

void NearestResize::run(const AxisSpec& across, const AxisSpec& down, const NearestSource& source, std::uint8_t* out,
                        std::size_t out_stride) {
  positions_of(across, source.channels, columns_);
  positions_of(down, 1, rows_);
  for (std::size_t y = 0; y < rows_.size(); ++y, out += out_stride) {
    if (y > 0 && rows_[y] == rows_[y - 1]) {
      std::memcpy(out, out - out_stride, columns_.size() * source.channels);
      continue;
    }
    const std::uint8_t* row = source.pixels + rows_[y] * source.stride;
    gather_any(row, columns_, source.channels, out);
  }
}

}  // namespace bale::image_detail
