// Moves boxes and keypoints by the steps that an image takes.
//
// Source: torchvision.transforms.v2.functional (0.29). Crop, Pad and warps clip boxes at the image's edges, Resize and
// flips do not. A warp moves a box's corners; the box is then the smallest that has them. Keypoints are indices of
// pixels: a flip moves x to width - 1 - x. They are not clipped. Without a warp the arithmetic is torchvision's in
// float32; warps are computed in doubles from the matrix that the pixels are taken with. SanitizeBoundingBoxes drops
// boxes; no other step drops any. Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/targets/target.hpp"

namespace bale::transform_detail {

struct Canvas {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// Moves the targets of an image of `canvas` pixels by one step, and gives `canvas` the size after it. Steps that do
/// not move pixels change nothing. Throws `unsupported` for step::Mixture, which has several geometries at once, and
/// for a warp that cannot be inverted; `invalid_argument` for sizes out of range.
void move_targets(const Step& step, Canvas& canvas, Boxes& boxes);
void move_targets(const Step& step, Canvas& canvas, KeyPoints& points);

/// The same for a list of steps.
template <typename Targets>
void move_targets(std::span<const Step> steps, Canvas& canvas, Targets& targets) {
  for (const Step& step : steps) move_targets(step, canvas, targets);
}

}  // namespace bale::transform_detail
