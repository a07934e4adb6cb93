#include "bale/formats/image/point/point_tables.hpp"

// Compiled without floating-point contraction.

#include <algorithm>
#include <numeric>

namespace bale::image_detail {
namespace {

/// A table of value_of(value), limited to bytes.
template <class ValueOf>
PointTable make_table(const ValueOf& value_of) {
  PointTable table;
  for (int value = 0; value < 256; ++value) {
    table[static_cast<std::size_t>(value)] =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>(value_of(value), 0, 255));
  }
  return table;
}

}  // namespace

PointTable identity_table() {
  return make_table([](int value) { return value; });
}

PointTable invert_table() {
  return make_table([](int value) { return 255 - value; });
}

PointTable solarize_table(double threshold) {
  return make_table([&](int value) { return value < threshold ? value : 255 - value; });
}

PointTable solarize_add_table(std::int32_t add, std::int32_t threshold) {
  return make_table([&](int value) { return value < threshold ? std::int64_t{value} + add : value; });
}

PointTable posterize_table(std::uint32_t bits) {
  const int kept = ~((1 << (8 - bits)) - 1);
  return make_table([&](int value) { return value & kept; });
}

PointTable blend_table(std::uint8_t level, double factor) {
  const auto share = static_cast<float>(factor);
  return make_table([&](int value) {
    const float mixed = static_cast<float>(level) + share * static_cast<float>(value - level);
    return static_cast<int>(std::clamp(mixed, 0.0F, 255.0F));
  });
}

PointTable equalize_table(const std::array<std::uint32_t, 256>& counts) {
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const auto last = std::find_if(counts.rbegin(), counts.rend(), [](std::uint32_t count) { return count != 0; });
  const std::uint64_t step = last == counts.rend() ? 0 : (total - *last) / 255;
  if (step == 0) return identity_table();
  std::uint64_t sum = step / 2;
  return make_table([&](int value) {
    const std::uint64_t result = sum / step;
    sum += counts[static_cast<std::size_t>(value)];
    return static_cast<std::int64_t>(result);
  });
}

PointTable auto_contrast_table(const std::array<std::uint32_t, 256>& counts) {
  const auto is_used = [](std::uint32_t count) { return count != 0; };
  const auto low = static_cast<int>(std::find_if(counts.begin(), counts.end(), is_used) - counts.begin());
  const auto high = 255 - static_cast<int>(std::find_if(counts.rbegin(), counts.rend(), is_used) - counts.rbegin());
  if (high <= low) return identity_table();
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  return make_table([&](int value) { return static_cast<std::int64_t>(value * scale + offset); });
}

}  // namespace bale::image_detail

namespace bale::image_detail {

Histogram histogram_of(const std::uint8_t* rgb, std::size_t num_pixels) {
  // Two counters for neighbors: counting equal values in turn would wait for memory.
  Histogram counts[2] = {};
  std::size_t i = 0;
  for (; i + 2 <= num_pixels; i += 2, rgb += 6) {
    ++counts[0][0][rgb[0]];
    ++counts[0][1][rgb[1]];
    ++counts[0][2][rgb[2]];
    ++counts[1][0][rgb[3]];
    ++counts[1][1][rgb[4]];
    ++counts[1][2][rgb[5]];
  }
  if (i < num_pixels) {
    for (std::size_t channel = 0; channel < 3; ++channel) ++counts[0][channel][rgb[channel]];
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) counts[0][channel][value] += counts[1][channel][value];
  }
  return counts[0];
}

}  // namespace bale::image_detail
