// Operations whose result is a function of the value and its channel: tables that Pillow's ImageOps and ImageEnhance
// apply, bit for bit. Internal.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

using PointTable = std::array<std::uint8_t, 256>;
/// One per channel.
using PointTables = std::array<PointTable, 3>;

PointTable identity_table();
PointTable invert_table();
PointTable solarize_table(double threshold);
PointTable solarize_add_table(std::int32_t add, std::int32_t threshold);
PointTable posterize_table(std::uint32_t bits);
/// Blends each value with `level`: Pillow's Image.blend with an image of that level.
PointTable blend_table(std::uint8_t level, double factor);
PointTable equalize_table(const std::array<std::uint32_t, 256>& counts);
PointTable auto_contrast_table(const std::array<std::uint32_t, 256>& counts);

/// How often each value occurs in each channel.
///
/// Threads: pure functions.
/// [channel][value].
using Histogram = std::array<std::array<std::uint32_t, 256>, 3>;

Histogram histogram_of(const std::uint8_t* rgb, std::size_t num_pixels);

}  // namespace bale::image_detail
