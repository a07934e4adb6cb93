#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/geometry/iou_crop.hpp"

namespace bale::transform_detail {

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

}  // namespace bale::transform_detail
