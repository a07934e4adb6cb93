// The size of an image after a step.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <utility>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// The width and height that an image of width x height pixels has then. Throws `invalid_argument` for sizes out of
/// range.
std::pair<std::uint32_t, std::uint32_t> size_after(const Step& step, std::uint32_t width, std::uint32_t height);

}  // namespace bale::transform_detail
