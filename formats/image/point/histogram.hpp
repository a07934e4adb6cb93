// How often each value occurs in each channel. Internal.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bale::image_detail {

/// [channel][value].
using Histogram = std::array<std::array<std::uint32_t, 256>, 3>;

Histogram histogram_of(const std::uint8_t* rgb, std::size_t num_pixels);

}  // namespace bale::image_detail
