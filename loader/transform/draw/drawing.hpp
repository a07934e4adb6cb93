// Drawing: a list of transforms on its way to steps. It knows the size and the boxes that the image has after the steps
// so far.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/geometry/size_after.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/targets/move_targets.hpp"
#include "bale/loader/transform/targets/target.hpp"

namespace bale::transform_detail {

class Drawing {
 public:
  /// For a stored image of width x height pixels. Appends to `steps`.
  Drawing(std::uint32_t width, std::uint32_t height, PassOrder pass_order, Steps& steps, BoxesOfImage boxes = {})
      : width_(width),
        height_(height),
        pass_order_(pass_order),
        steps_(steps),
        source_{.width = width, .height = height},
        source_boxes_(boxes),
        num_earlier_(steps.size()) {}

  std::uint32_t width() const { return width_; }
  std::uint32_t height() const { return height_; }
  /// Throws what move_targets() throws.
  Boxes boxes() const;
  /// What RandomIoUCrop has drawn before; null if it is to draw.
  const Region* drawn_iou_crop() const { return source_boxes_.drawn; }

  void add(Step step) {
    std::tie(width_, height_) = size_after(step, width_, height_);
    steps_.push_back(std::move(step));
  }

  /// Adds step::Resize, unless the image has this size already. Throws `unsupported` for sizes of 0.
  void resize(std::uint64_t width, std::uint64_t height, Filter filter);

 private:
  std::uint32_t width_;
  std::uint32_t height_;
  PassOrder pass_order_;
  Steps& steps_;
  Canvas source_;
  BoxesOfImage source_boxes_;
  std::size_t num_earlier_;
};

}  // namespace bale::transform_detail
