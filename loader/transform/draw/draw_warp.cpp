// Compiled without floating-point contraction.

#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/geometry/warp_matrices.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

/// Python's int(round(uniform(-most, most))).
double draw_whole(double most, KeyedRandom& random) {
  const double drawn = draw_between({-most, most}, random);
  return drawn < 0 ? -round_half_even(-drawn) : round_half_even(drawn);
}

double draw_optional(const std::optional<Range>& range, double otherwise, KeyedRandom& random) {
  return range ? draw_between(*range, random) : otherwise;
}

}  // namespace

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
