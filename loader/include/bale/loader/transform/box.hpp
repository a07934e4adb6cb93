// Box: a rectangle around an object of an image, with its label.
//
// Threads: plain values.
#pragma once

#include <cstdint>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// The label of a box or keypoint that has none.
inline constexpr std::int64_t k_no_target_label = -1;

/// A box by two of its corners, in pixels of the image; the right and lower edges are at x1 and y1.
struct Box {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  std::int64_t label = k_no_target_label;
  friend bool operator==(const Box&, const Box&) = default;
};

}  // namespace bale
