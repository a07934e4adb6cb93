// FusedStart: the first steps of an image, done while it is decoded and resized instead of one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

struct FusedStart {
  Region needed{};                     // pixels to decode
  std::optional<ResizeSpec> resize{};  // then
  std::size_t num_steps = 0;           // that this does

  /// The size after these steps.
  std::uint32_t width() const { return resize ? resize->window.width : needed.width; }
  std::uint32_t height() const { return resize ? resize->window.height : needed.height; }
};

/// Crops, a resize, crops of the result and a horizontal flip, as far as `steps` begins with them. The pixels are those
/// of the steps one after the other: a resized pixel depends on the pixels that its filter reaches only.
FusedStart fuse_start(std::span<const Step> steps, std::uint32_t width, std::uint32_t height);

}  // namespace bale::transform_detail
