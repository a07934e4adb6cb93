// Targets of an image that share its geometry: boxes and keypoints. Masks are images (mask.hpp).
//
// Coordinates are pixels of the image; (0, 0) is its upper left corner. Threads: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/loader/transform/box.hpp"

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

}  // namespace bale::transform_detail
