#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {

Steps draw_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  check_transform(transform);
  Steps steps;
  transform_detail::draw_list(*transform.list, transform.pass_order, key, width, height, steps, {.boxes = boxes});
  return steps;
}

Steps draw_steps(const TransformList& list, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes) {
  transform_detail::check_list(list);
  Steps steps;
  transform_detail::draw_list({list, {}, transform_detail::numbers_of(list)}, PassOrder::pillow_13, key, width, height,
                              steps, {.boxes = boxes});
  return steps;
}

}  // namespace bale
