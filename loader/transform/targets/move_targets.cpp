// Compiled without floating-point contraction.
#include "bale/loader/transform/targets/move_targets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/geometry/size_after.hpp"

namespace bale::transform_detail {
namespace {

/// From coordinates of the image before a warp to those after it.
class Homography {
 public:
  /// The inverse of a step's matrix, which goes from the image after the warp to the one before it.
  static Homography inverse_of(const std::array<double, 9>& m) {
    Homography inverse;
    inverse.m_ = {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                  m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                  m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    const double determinant = m[0] * inverse.m_[0] + m[1] * inverse.m_[3] + m[2] * inverse.m_[6];
    if (!std::isfinite(determinant) || determinant == 0) {
      throw Error(ErrorCode::unsupported, "boxes and keypoints cannot follow a warp that has no inverse");
    }
    return inverse;
  }
  static Homography inverse_of(const std::array<double, 6>& m) {
    return inverse_of({m[0], m[1], m[2], m[3], m[4], m[5], 0, 0, 1});
  }

  /// Not a number, or infinite, for what the warp moves to infinity.
  std::pair<float, float> at(float x, float y) const {
    const double share = m_[6] * x + m_[7] * y + m_[8];
    return {static_cast<float>((m_[0] * x + m_[1] * y + m_[2]) / share),
            static_cast<float>((m_[3] * x + m_[4] * y + m_[5]) / share)};
  }

 private:
  std::array<double, 9> m_{};
};

/// NaN becomes 0.
float clamped(float value, float high) { return value > 0 ? std::min(value, high) : 0.0F; }

void clamp(const Canvas& canvas, Boxes& boxes) {
  const auto width = static_cast<float>(canvas.width);
  const auto height = static_cast<float>(canvas.height);
  for (Box& box : boxes) {
    box.x0 = clamped(box.x0, width);
    box.x1 = clamped(box.x1, width);
    box.y0 = clamped(box.y0, height);
    box.y1 = clamped(box.y1, height);
  }
}
/// A keypoint that has left the image stays outside, so that it can be told from one at the edge.
void clamp(const Canvas&, KeyPoints&) {}

// Each coordinate of an axis on its own.
template <typename Across, typename Down>
void move_axes(Boxes& boxes, const Across& across, const Down& down) {
  for (Box& box : boxes) box = {across(box.x0), down(box.y0), across(box.x1), down(box.y1), box.label};
}
template <typename Across, typename Down>
void move_axes(KeyPoints& points, const Across& across, const Down& down) {
  for (KeyPoint& point : points) point = {across(point.x), down(point.y), point.label};
}

void mirror_across(std::uint32_t side, Boxes& boxes) {
  const auto width = static_cast<float>(side);
  for (Box& box : boxes) box = {-(box.x1 - width), box.y0, -(box.x0 - width), box.y1, box.label};
}
void mirror_across(std::uint32_t side, KeyPoints& points) {
  for (KeyPoint& point : points) point.x = -(point.x - static_cast<float>(side - 1));
}
void mirror_down(std::uint32_t side, Boxes& boxes) {
  const auto height = static_cast<float>(side);
  for (Box& box : boxes) box = {box.x0, -(box.y1 - height), box.x1, -(box.y0 - height), box.label};
}
void mirror_down(std::uint32_t side, KeyPoints& points) {
  for (KeyPoint& point : points) point.y = -(point.y - static_cast<float>(side - 1));
}

/// `at` gives the new place (x, y) of a point.
template <typename At>
void move_corners(Boxes& boxes, const At& at) {
  for (Box& box : boxes) {
    const std::array<std::pair<float, float>, 4> corners{at(box.x0, box.y0), at(box.x1, box.y0), at(box.x1, box.y1),
                                                         at(box.x0, box.y1)};
    Box moved{corners[0].first, corners[0].second, corners[0].first, corners[0].second, box.label};
    bool is_finite = true;
    for (const auto& [x, y] : corners) {
      is_finite = is_finite && std::isfinite(x) && std::isfinite(y);
      moved = {std::min(moved.x0, x), std::min(moved.y0, y), std::max(moved.x1, x), std::max(moved.y1, y), box.label};
    }
    box = is_finite ? moved : Box{.label = box.label};
  }
}
template <typename At>
void move_corners(KeyPoints& points, const At& at) {
  for (KeyPoint& point : points) std::tie(point.x, point.y) = at(point.x, point.y);
}

/// Source: torchvision's _get_sanitize_bounding_boxes_mask.
bool is_sane(const Box& box, const Canvas& canvas, const step::SanitizeBoundingBoxes& least) {
  const float width = box.x1 - box.x0;
  const float height = box.y1 - box.y0;
  const auto min_size = static_cast<float>(least.min_size);
  const auto right = static_cast<float>(canvas.width);
  const auto bottom = static_cast<float>(canvas.height);
  return width >= min_size && height >= min_size && width * height >= static_cast<float>(least.min_area) &&
         box.x0 >= 0 && box.y0 >= 0 && box.x1 >= 0 && box.y1 >= 0 && box.x0 <= right && box.x1 <= right &&
         box.y0 <= bottom && box.y1 <= bottom;
}

template <typename Targets>
struct Move {
  Canvas& canvas;
  Targets& targets;

  void resize_canvas(const Step& step) const {
    std::tie(canvas.width, canvas.height) = size_after(step, canvas.width, canvas.height);
  }

  void operator()(const step::Crop& crop) const {
    resize_canvas(crop);
    const auto left = static_cast<float>(crop.left);
    const auto top = static_cast<float>(crop.top);
    move_axes(
        targets, [left](float x) { return x - left; }, [top](float y) { return y - top; });
    clamp(canvas, targets);
  }
  void operator()(const step::Pad& pad) const {
    resize_canvas(pad);
    const auto left = static_cast<float>(pad.left);
    const auto top = static_cast<float>(pad.top);
    move_axes(
        targets, [left](float x) { return x + left; }, [top](float y) { return y + top; });
    clamp(canvas, targets);
  }
  void operator()(const step::Resize& resize) const {
    const Canvas before = canvas;
    resize_canvas(resize);
    const auto across = static_cast<float>(static_cast<double>(canvas.width) / before.width);
    const auto down = static_cast<float>(static_cast<double>(canvas.height) / before.height);
    move_axes(
        targets, [across](float x) { return x * across; }, [down](float y) { return y * down; });
  }
  void operator()(const step::HorizontalFlip&) const { mirror_across(canvas.width, targets); }
  void operator()(const step::VerticalFlip&) const { mirror_down(canvas.height, targets); }
  void operator()(const step::Rotate& rotate) const {
    const auto width = static_cast<float>(canvas.width);
    const auto height = static_cast<float>(canvas.height);
    using Point = std::pair<float, float>;
    const Rotation rotation = rotation_of(rotate, canvas.width, canvas.height);
    switch (rotation.kind) {
      case Rotation::Kind::copy:
        break;
      case Rotation::Kind::rotate_90:
        move_corners(targets, [width](float x, float y) { return Point{y, width - x}; });
        break;
      case Rotation::Kind::rotate_180:
        move_corners(targets, [width, height](float x, float y) { return Point{width - x, height - y}; });
        break;
      case Rotation::Kind::rotate_270:
        move_corners(targets, [height](float x, float y) { return Point{height - y, x}; });
        break;
      case Rotation::Kind::warp:
        warp(Homography::inverse_of(rotation.matrix));
        break;
    }
    canvas = {.width = rotation.width, .height = rotation.height};
    clamp(canvas, targets);
  }
  void operator()(const step::Affine& affine) const {
    warp(Homography::inverse_of(affine.matrix));
    clamp(canvas, targets);
  }
  void operator()(const step::Perspective& perspective) const {
    const auto& c = perspective.coefficients;
    warp(Homography::inverse_of({c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], 1}));
    clamp(canvas, targets);
  }
  void operator()(const step::ZeroBoundingBoxes& zero) const {
    if constexpr (std::is_same_v<Targets, Boxes>) {
      const Region region{.x = zero.left, .y = zero.top, .width = zero.width, .height = zero.height};
      for (Box& box : targets) {
        if (!has_center_in(region, box)) box = {.label = box.label};
      }
    }
  }
  void operator()(const step::ClampBoundingBoxes&) const { clamp(canvas, targets); }
  void operator()(const step::SanitizeBoundingBoxes& least) const {
    if constexpr (std::is_same_v<Targets, Boxes>) {
      std::erase_if(targets, [&](const Box& box) { return !is_sane(box, canvas, least); });
    }
  }
  void operator()(const step::Mixture&) const {
    throw Error(ErrorCode::unsupported, "targets cannot follow AugMix: it mixes images of several geometries");
  }
  template <typename Other>
  void operator()(const Other&) const {}

  void warp(const Homography& homography) const {
    move_corners(targets, [&homography](float x, float y) { return homography.at(x, y); });
  }
};

}  // namespace

void move_targets(const Step& step, Canvas& canvas, Boxes& boxes) { std::visit(Move<Boxes>{canvas, boxes}, step); }
void move_targets(const Step& step, Canvas& canvas, KeyPoints& points) {
  std::visit(Move<KeyPoints>{canvas, points}, step);
}

}  // namespace bale::transform_detail
