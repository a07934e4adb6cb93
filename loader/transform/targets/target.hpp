// Targets of an image that share its geometry: boxes and keypoints. Masks are images (mask.hpp).
//
// Coordinates are pixels of the image; (0, 0) is its upper left corner. Threads: plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace bale::transform_detail {

/// The label of a box or point that has none.
inline constexpr std::int64_t k_no_target_label = -1;

/// A box by two of its corners; the right and lower edges are at x1 and y1.
struct Box {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  std::int64_t label = k_no_target_label;
  friend bool operator==(const Box&, const Box&) = default;
};

struct KeyPoint {
  float x = 0;
  float y = 0;
  std::int64_t label = k_no_target_label;
  friend bool operator==(const KeyPoint&, const KeyPoint&) = default;
};

using Boxes = std::vector<Box>;
using KeyPoints = std::vector<KeyPoint>;

}  // namespace bale::transform_detail
