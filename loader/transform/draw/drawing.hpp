// Drawing: a list of transforms on its way to steps. It knows the size that the image has after the steps so far.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/augment_draw.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// The size of an image of width x height pixels after a step.
std::pair<std::uint32_t, std::uint32_t> size_after(const Step& step, std::uint32_t width, std::uint32_t height);

class Drawing {
 public:
  Drawing(std::uint32_t width, std::uint32_t height, PassOrder pass_order, Steps& steps)
      : width_(width), height_(height), pass_order_(pass_order), steps_(steps) {}

  std::uint32_t width() const { return width_; }
  std::uint32_t height() const { return height_; }

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
};

}  // namespace bale::transform_detail
