// Targets of an image that share its geometry: boxes and keypoints. Masks are images (mask.hpp).
//
// Coordinates are pixels of the image; (0, 0) is its upper left corner. Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::transform_detail {

using bale::Box;

struct KeyPoint {
  float x = 0;
  float y = 0;
  std::int64_t label = k_no_target_label;
  friend bool operator==(const KeyPoint&, const KeyPoint&) = default;
};

using Boxes = std::vector<Box>;
using KeyPoints = std::vector<KeyPoint>;

// The four numbers of a box in its formats, as torchvision converts them.

inline Box to_corners(const std::array<float, 4>& given, BoxFormat format) {
  const auto [a, b, c, d] = given;
  switch (format) {
    case BoxFormat::xywh:
      return {a, b, a + c, b + d, k_no_target_label};
    case BoxFormat::cxcywh:
      return {a - c * 0.5F, b - d * 0.5F, a - c * 0.5F + c, b - d * 0.5F + d, k_no_target_label};
    case BoxFormat::xyxy:
      break;
  }
  return {a, b, c, d, k_no_target_label};
}

inline std::array<float, 4> from_corners(const Box& box, BoxFormat format) {
  const float width = box.x1 - box.x0;
  const float height = box.y1 - box.y0;
  switch (format) {
    case BoxFormat::xywh:
      return {box.x0, box.y0, width, height};
    case BoxFormat::cxcywh:
      return {(box.x0 * 2 + width) / 2, (box.y0 * 2 + height) / 2, width, height};
    case BoxFormat::xyxy:
      break;
  }
  return {box.x0, box.y0, box.x1, box.y1};
}

}  // namespace bale::transform_detail
