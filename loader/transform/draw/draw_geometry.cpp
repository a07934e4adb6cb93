// Compiled without floating-point contraction.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/geometry/warp_matrices.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

/// The shorter side becomes `size`; the longer one is in proportion, rounded down, and at most `max_size`.
/// Source: torchvision's _compute_resized_output_size.
void resize_shorter(std::uint32_t size, std::optional<std::uint32_t> max_size, Filter filter, Drawing& drawing) {
  const bool wide = drawing.width() > drawing.height();
  const std::uint32_t shorter = std::min(drawing.width(), drawing.height());
  const std::uint32_t longer = std::max(drawing.width(), drawing.height());
  std::uint64_t new_shorter = size;
  auto new_longer = static_cast<std::uint64_t>(static_cast<double>(std::uint64_t{size} * longer) / shorter);
  if (max_size && new_longer > *max_size) {
    new_shorter =
        static_cast<std::uint64_t>(static_cast<double>(*max_size * new_shorter) / static_cast<double>(new_longer));
    new_longer = *max_size;
  }
  drawing.resize(wide ? new_longer : new_shorter, wide ? new_shorter : new_longer, filter);
}

/// Both sides times `factor`, rounded down.
void resize_by(double factor, Filter filter, Drawing& drawing) {
  drawing.resize(static_cast<std::uint64_t>(drawing.width() * factor),
                 static_cast<std::uint64_t>(drawing.height() * factor), filter);
}

void pad(const std::array<std::uint32_t, 4>& sides, PadMode mode, const Color& fill, Drawing& drawing) {
  const auto [left, top, right, bottom] = sides;
  if (left == 0 && top == 0 && right == 0 && bottom == 0) return;
  drawing.add(step::Pad{.left = left, .top = top, .right = right, .bottom = bottom, .mode = mode, .fill = fill});
}

/// At the right and the bottom.
void pad_up_to(const Size& size, const Color& fill, Drawing& drawing) {
  pad({0, 0, size.width > drawing.width() ? size.width - drawing.width() : 0,
       size.height > drawing.height() ? size.height - drawing.height() : 0},
      PadMode::constant, fill, drawing);
}

/// Half of `difference`, rounded as Python's round(): ties to even.
std::int32_t half(std::uint32_t difference) {
  const std::uint32_t floor = difference / 2;
  return static_cast<std::int32_t>(difference % 2 == 0 ? floor : floor + floor % 2);
}

/// Python's int(round(uniform(-most, most))).
double draw_whole(double most, KeyedRandom& random) {
  const double drawn = draw_between({-most, most}, random);
  return drawn < 0 ? -round_half_even(-drawn) : round_half_even(drawn);
}

double draw_optional(const std::optional<Range>& range, double otherwise, KeyedRandom& random) {
  return range ? draw_between(*range, random) : otherwise;
}

}  // namespace

void draw_node(const transforms::Resize& node, const NodeRandom&, Drawing& drawing) {
  if (node.width) {
    drawing.resize(*node.width, node.height, node.interpolation);
  } else {
    resize_shorter(node.height, node.max_size, node.interpolation, drawing);
  }
}

void draw_node(const transforms::CenterCrop& node, const NodeRandom&, Drawing& drawing) {
  const auto [height, width] = node.size;
  const std::uint32_t lack_x = width > drawing.width() ? width - drawing.width() : 0;
  const std::uint32_t lack_y = height > drawing.height() ? height - drawing.height() : 0;
  pad({lack_x / 2, lack_y / 2, (lack_x + 1) / 2, (lack_y + 1) / 2}, PadMode::constant, {}, drawing);
  if (width == drawing.width() && height == drawing.height()) return;
  drawing.add(step::Crop{
      .left = half(drawing.width() - width), .top = half(drawing.height() - height), .width = width, .height = height});
}

void draw_node(const transforms::RandomCrop& node, const NodeRandom& random, Drawing& drawing) {
  std::array<std::uint32_t, 4> sides = node.padding.value_or(std::array<std::uint32_t, 4>{});
  auto& [left, top, right, bottom] = sides;
  const auto [height, width] = node.size;
  if (node.pad_if_needed) {  // as torchvision: on both sides what is lacking in all
    const std::uint32_t padded_height = drawing.height() + top + bottom;
    const std::uint32_t padded_width = drawing.width() + left + right;
    if (padded_height < height) top += height - padded_height, bottom += height - padded_height;
    if (padded_width < width) left += width - padded_width, right += width - padded_width;
  }
  pad(sides, node.padding_mode, node.fill, drawing);
  if (drawing.width() < width || drawing.height() < height) {
    throw Error(ErrorCode::unsupported, fmt::format("{}x{} pixels are less than the crop of {}x{}", drawing.width(),
                                                    drawing.height(), width, height));
  }
  if (width == drawing.width() && height == drawing.height()) return;
  KeyedRandom place = random.part(0);
  const auto y = static_cast<std::int32_t>(place.below(drawing.height() - height + 1));
  const auto x = static_cast<std::int32_t>(place.below(drawing.width() - width + 1));
  drawing.add(step::Crop{.left = x, .top = y, .width = width, .height = height});
}

void draw_node(const transforms::RandomResizedCrop& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom place = random.stream(Stream::crop);
  const Region crop = draw_resized_crop(node.scale, node.ratio, place, drawing.width(), drawing.height());
  drawing.add(step::Crop{.left = static_cast<std::int32_t>(crop.x),
                         .top = static_cast<std::int32_t>(crop.y),
                         .width = crop.width,
                         .height = crop.height});
  const std::size_t num_filters = node.interpolation.size();
  drawing.resize(node.size.width, node.size.height,
                 node.interpolation[num_filters == 1 ? 0 : random.part(100).below(num_filters)]);
}

void draw_node(const transforms::Pad& node, const NodeRandom&, Drawing& drawing) {
  pad(node.padding, node.padding_mode, node.fill, drawing);
}

void draw_node(const transforms::PadIfSmaller& node, const NodeRandom&, Drawing& drawing) {
  pad_up_to(node.size, node.fill, drawing);
}

void draw_node(const transforms::FixedSizeCrop& node, const NodeRandom& random, Drawing& drawing) {
  const std::uint32_t width = std::min(node.size.width, drawing.width());
  const std::uint32_t height = std::min(node.size.height, drawing.height());
  const std::uint32_t more_x = drawing.width() - width;
  const std::uint32_t more_y = drawing.height() - height;
  if (more_x > 0 || more_y > 0) {
    const double share = random.part(0).uniform();
    drawing.add(step::Crop{.left = static_cast<std::int32_t>(more_x * share),
                           .top = static_cast<std::int32_t>(more_y * share),
                           .width = width,
                           .height = height});
  }
  pad_up_to(node.size, node.fill, drawing);
}

/// The step is always the last one, also if it adds nothing: View relies on it.
void draw_node(const transforms::PadTo& node, const NodeRandom&, Drawing& drawing) {
  const auto [height, width] = node.size;
  if (drawing.width() > width || drawing.height() > height) {
    throw Error(ErrorCode::unsupported, fmt::format("larger than the {}x{} that it is padded to", width, height));
  }
  drawing.add(step::Pad{.right = width - drawing.width(), .bottom = height - drawing.height()});
}

void draw_node(const transforms::RandomHorizontalFlip& node, const NodeRandom& random, Drawing& drawing) {
  if (random.stream(Stream::flip).uniform() < node.p) drawing.add(step::HorizontalFlip{});
}

void draw_node(const transforms::RandomVerticalFlip& node, const NodeRandom& random, Drawing& drawing) {
  if (random.part(0).uniform() < node.p) drawing.add(step::VerticalFlip{});
}

// torchvision scales by the target's sides crosswise (target_size[1] / height), and so does this.
void draw_node(const transforms::ScaleJitter& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  const double scale = draw_between(node.scale_range, sequence);
  const double fit = std::min(static_cast<double>(node.target_size.width) / drawing.height(),
                              static_cast<double>(node.target_size.height) / drawing.width());
  resize_by(fit * scale, node.interpolation, drawing);
}

void draw_node(const transforms::RandomResize& node, const NodeRandom& random, Drawing& drawing) {
  const std::uint64_t size = node.min_size + random.part(0).below(node.max_size - node.min_size);
  resize_shorter(static_cast<std::uint32_t>(size), std::nullopt, node.interpolation, drawing);
}

void draw_node(const transforms::RandomShortestSize& node, const NodeRandom& random, Drawing& drawing) {
  const std::uint32_t size = node.min_size[random.part(0).below(node.min_size.size())];
  double factor = static_cast<double>(size) / std::min(drawing.width(), drawing.height());
  if (node.max_size) {
    factor = std::min(factor, static_cast<double>(*node.max_size) / std::max(drawing.width(), drawing.height()));
  }
  resize_by(factor, node.interpolation, drawing);
}

void draw_node(const transforms::RandomZoomOut& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  if (sequence.uniform() >= node.p) return;
  const double factor = draw_between(node.side_range, sequence);
  const auto canvas_width = static_cast<std::uint32_t>(drawing.width() * factor);
  const auto canvas_height = static_cast<std::uint32_t>(drawing.height() * factor);
  const std::uint32_t more_x = canvas_width - drawing.width();
  const std::uint32_t more_y = canvas_height - drawing.height();
  const auto left = static_cast<std::uint32_t>(more_x * sequence.uniform());
  const auto top = static_cast<std::uint32_t>(more_y * sequence.uniform());
  pad({left, top, more_x - left, more_y - top}, PadMode::constant, node.fill, drawing);
}

void draw_node(const transforms::RandomIoUCrop& node, const NodeRandom& random, Drawing& drawing) {
  std::optional<Region> crop;
  if (const Region* const drawn = drawing.drawn_iou_crop()) {
    if (drawn->width > 0) crop = *drawn;
  } else {
    KeyedRandom sequence = random.part(0);
    crop = draw_iou_crop(node, drawing.width(), drawing.height(), drawing.boxes(), sequence);
  }
  if (!crop) return;
  drawing.add(step::ZeroBoundingBoxes{.left = crop->x, .top = crop->y, .width = crop->width, .height = crop->height});
  drawing.add(step::Crop{.left = static_cast<std::int32_t>(crop->x),
                         .top = static_cast<std::int32_t>(crop->y),
                         .width = crop->width,
                         .height = crop->height});
}

void draw_node(const transforms::ClampBoundingBoxes&, const NodeRandom&, Drawing& drawing) {
  drawing.add(step::ClampBoundingBoxes{});
}

void draw_node(const transforms::SanitizeBoundingBoxes& node, const NodeRandom&, Drawing& drawing) {
  drawing.add(step::SanitizeBoundingBoxes{.min_size = node.min_size, .min_area = node.min_area});
}

void draw_node(const transforms::RandomRotation& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  drawing.add(step::Rotate{.angle = draw_between(node.degrees, sequence),
                           .sampling = node.interpolation,
                           .expand = node.expand,
                           .center = node.center,
                           .fill = node.fill});
}

void draw_node(const transforms::RandomAffine& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  AffineParameters parameters{.angle = draw_between(node.degrees, sequence)};
  if (node.translate) {
    parameters.translate = {draw_whole((*node.translate)[0] * drawing.width(), sequence),
                            draw_whole((*node.translate)[1] * drawing.height(), sequence)};
  }
  parameters.scale = draw_optional(node.scale, 1, sequence);
  parameters.shear[0] = draw_optional(node.shear_x, 0, sequence);
  parameters.shear[1] = draw_optional(node.shear_y, 0, sequence);
  const std::array<double, 2> middle{drawing.width() * 0.5, drawing.height() * 0.5};
  drawing.add(step::Affine{.matrix = inverse_affine_matrix(node.center.value_or(middle), parameters),
                           .sampling = node.interpolation,
                           .fill = node.fill});
}

void draw_node(const transforms::RandomPerspective& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  if (sequence.uniform() >= node.p) return;
  const std::uint32_t width = drawing.width();
  const std::uint32_t height = drawing.height();
  const auto bound_x = static_cast<std::uint32_t>(node.distortion_scale * (width / 2)) + 1;
  const auto bound_y = static_cast<std::uint32_t>(node.distortion_scale * (height / 2)) + 1;
  const auto near_start = [&](std::uint32_t bound) { return static_cast<double>(sequence.below(bound)); };
  const auto near_end = [&](std::uint32_t side, std::uint32_t bound) {
    return static_cast<double>(side - bound + sequence.below(bound));
  };
  Corners to{};
  to[0] = {near_start(bound_x), near_start(bound_y)};
  to[1] = {near_end(width, bound_x), near_start(bound_y)};
  to[2] = {near_end(width, bound_x), near_end(height, bound_y)};
  to[3] = {near_start(bound_x), near_end(height, bound_y)};
  const double right = width - 1.0;
  const double bottom = height - 1.0;
  const Corners from{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  drawing.add(step::Perspective{
      .coefficients = perspective_coefficients(from, to), .sampling = node.interpolation, .fill = node.fill});
}

}  // namespace bale::transform_detail
