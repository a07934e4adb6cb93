// The size of an image after a step, and what steps refuse: parameters that are not numbers, and images that would be
// empty or far larger than any batch holds.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// The width and height that an image of width x height pixels has then. Throws `invalid_argument` for sizes out of
/// range.
std::pair<std::uint32_t, std::uint32_t> size_after(const Step& step, std::uint32_t width, std::uint32_t height);

/// Throws `invalid_argument` unless both sides are 1 to 65535 pixels and the area is at most 2^27 pixels.
void check_size(std::string_view step, double width, double height);

/// Throws `invalid_argument` for infinite numbers and NaN.
void check_finite(std::string_view step, double value);

/// Throws `invalid_argument` with the name of the step if a parameter is out of range.
void check_that(bool holds, std::string_view step, std::string_view requirement);

}  // namespace bale::transform_detail
