// The transforms inside a transform.
#pragma once

#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

/// Null if there are none. Lives as long as `node`.
inline const TransformList* children_of(const TransformNode& node) {
  if (const auto* compose = std::get_if<transforms::Compose>(&node)) return &compose->transforms;
  if (const auto* apply = std::get_if<transforms::RandomApply>(&node)) return &apply->transforms;
  if (const auto* choice = std::get_if<transforms::RandomChoice>(&node)) return &choice->transforms;
  if (const auto* order = std::get_if<transforms::RandomOrder>(&node)) return &order->transforms;
  return nullptr;
}

}  // namespace bale::transform_detail
