// The four numbers of a box in its formats, as torchvision converts them.
#pragma once

#include <array>

#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/targets/target.hpp"

namespace bale::transform_detail {

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
