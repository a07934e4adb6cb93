#include "bale/loader/transform/draw/drawing.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::uint64_t k_max_drawn_side = 65535;

}  // namespace

Boxes Drawing::boxes() const {
  Boxes boxes(source_boxes_.boxes.begin(), source_boxes_.boxes.end());
  Canvas canvas = source_;
  move_targets(std::span<const Step>(steps_).subspan(num_earlier_), canvas, boxes);
  return boxes;
}

void Drawing::resize(std::uint64_t width, std::uint64_t height, Filter filter) {
  if (width == 0 || height == 0 || width > k_max_drawn_side || height > k_max_drawn_side) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}x{} pixels would be resized to {}x{}", width_, height_, width, height));
  }
  if (width == width_ && height == height_) return;
  add(step::Resize{.width = static_cast<std::uint32_t>(width),
                   .height = static_cast<std::uint32_t>(height),
                   .filter = filter,
                   .pass_order = pass_order_});
}

}  // namespace bale::transform_detail
