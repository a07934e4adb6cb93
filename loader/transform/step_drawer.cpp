#include "bale/loader/transform/step_drawer.hpp"

#include "bale/loader/transform/list/check.hpp"

namespace bale::transform_detail {
namespace {

template <typename Adjustment>
void add_adjustment(double factor, Steps& steps) {
  if (factor != 1) steps.push_back(Adjustment{.factor = factor});  // a factor of 1 changes nothing
}

void append_jitter(AugmentDraw::Step step, const AugmentDraw& draw, const ColorJitter& jitter, Steps& steps) {
  switch (step) {
    case AugmentDraw::Step::brightness:
      return add_adjustment<step::Brightness>(draw.brightness, steps);
    case AugmentDraw::Step::contrast:
      return add_adjustment<step::Contrast>(draw.contrast, steps);
    case AugmentDraw::Step::saturation:
      return add_adjustment<step::Saturation>(draw.saturation, steps);
    case AugmentDraw::Step::hue:  // changes pixels even by a turn of 0: it converts them to 8-bit HSV and back
      if (jitter.hue != Range{0, 0}) steps.push_back(step::Hue{.turn = draw.hue});
      return;
  }
}

/// The steps that a draw for Transform::Kind::train stands for.
void append_steps(const AugmentDraw& draw, const Transform& transform, Steps& steps) {
  steps.push_back(step::Crop{.left = static_cast<std::int32_t>(draw.crop.x),
                             .top = static_cast<std::int32_t>(draw.crop.y),
                             .width = draw.crop.width,
                             .height = draw.crop.height});
  steps.push_back(step::Resize{.width = transform.width,
                               .height = transform.height,
                               .filter = transform.filter,
                               .pass_order = transform.pass_order});
  if (draw.flip) steps.push_back(step::HorizontalFlip{});
  if (draw.jitter) {
    for (const AugmentDraw::Step step : draw.order) append_jitter(step, draw, transform.jitter, steps);
  }
  if (draw.gray) steps.push_back(step::Grayscale{});
}

/// The list that draws what draw_augment() does not; empty for transforms that have none.
TransformList list_of(const Transform& transform) {
  if (transform.kind == Transform::Kind::list) return *transform.list;
  if (transform.kind != Transform::Kind::val) return {};
  return {transforms::Resize{.height = transform.resize_short, .interpolation = transform.filter},
          transforms::CenterCrop{.size = {.height = transform.height, .width = transform.width}}};
}

}  // namespace

StepDrawer::StepDrawer(const Transform& transform)
    : transform_(transform), drawer_(list_of(transform), transform.pass_order) {}

void StepDrawer::draw(const DrawKey& key, std::uint32_t width, std::uint32_t height, Steps& steps,
                      const BoxesOfImage& boxes) const {
  if (transform_.kind == Transform::Kind::train) {
    append_steps(draw_augment(transform_, key, width, height), transform_, steps);
  } else {
    drawer_.draw(key, width, height, steps, boxes);
  }
}

Steps image_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                  const BoxesOfImage& boxes) {
  if (transform.kind == Transform::Kind::padded) {
    return {step::Pad{.right = transform.width - width, .bottom = transform.height - height}};
  }
  Steps steps;
  StepDrawer(transform).draw(key, width, height, steps, boxes);
  return steps;
}

}  // namespace bale::transform_detail

namespace bale {

Steps draw_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  Steps steps;
  transform_detail::StepDrawer(transform).draw(key, width, height, steps, {.boxes = boxes});
  return steps;
}

Steps draw_steps(const TransformList& list, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  transform_detail::check_list(list);
  Steps steps;
  transform_detail::ListDrawer(list, PassOrder::pillow_13).draw(key, width, height, steps, {.boxes = boxes});
  return steps;
}

}  // namespace bale
