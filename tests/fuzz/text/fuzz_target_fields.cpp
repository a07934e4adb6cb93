// Whatever the bytes of an array, a mask, boxes or keypoints: they are read or refused, and what is read has the size
// that batches reserve for it. Crops that are drawn by boxes lie within their image.
#include <cstdlib>
#include <cstring>

#include "bale/formats/image/png/mask.hpp"
#include "bale/loader/transform/fields/array_field.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/targets/read_targets.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

/// Boxes that are left are inside the image and have an area.
void require_sane(bale::Bytes rows) {
  for (std::size_t at = 0; at < rows.size(); at += sizeof(bale::BoxRow)) {
    bale::BoxRow row;
    std::memcpy(&row, rows.data() + at, sizeof row);
    const auto [x0, y0, x1, y1] = row.box;
    if (!(0 <= x0 && x0 < x1 && x1 <= 30 && 0 <= y0 && y0 < y1 && y1 <= 20)) std::abort();
  }
}

/// Whatever the boxes, a crop by them is inside the image, and ends.
void draw_by(bale::Bytes bytes) {
  const bale::transform_detail::Boxes boxes = bale::transform_detail::read_boxes(bytes, bale::BoxFormat::xyxy);
  const bale::TransformList list{bale::transforms::RandomIoUCrop{.sampler_options = {0, 0.5, 1}, .trials = 5}};
  for (std::uint64_t sample = 0; sample < 4; ++sample) {
    const bale::Region crop =
        bale::transform_detail::iou_crop_of(bale::draw_steps(list, {.sample = sample}, 40, 30, boxes));
    if (crop.x + crop.width > 40 || crop.y + crop.height > 30) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  for (const char* const type : {"<f4", "<i2", "|b1"}) {
    bale::Field field{.kind = bale::FieldKind::array, .type = type};
    try {
      bale::transform_detail::complete_array_field(field, bytes);
      if (bale::transform_detail::array_row_bytes(field) > 1U << 20) continue;
      std::vector<std::byte> out(bale::transform_detail::array_row_bytes(field));
      bale::transform_detail::read_array_field(field, bytes, out);
    } catch (const bale::Error&) {
    }
  }
  try {
    const bale::Mask mask = bale::decode_mask(bytes, 1U << 20);
    if (mask.values.size() != std::size_t{mask.width} * mask.height) std::abort();
  } catch (const bale::Error&) {
  }
  for (const bale::FieldKind kind : {bale::FieldKind::boxes, bale::FieldKind::keypoints}) {
    try {
      const bale::Steps steps{bale::step::ZeroBoundingBoxes{.left = 3, .top = 2, .width = 30, .height = 20},
                              bale::step::Crop{.left = 3, .top = 2, .width = 30, .height = 20},
                              bale::step::HorizontalFlip{},
                              bale::step::Rotate{.angle = 30},
                              bale::step::ClampBoundingBoxes{},
                              bale::step::SanitizeBoundingBoxes{}};
      bale::transform_detail::TargetMaker maker(1U << 20);
      const bale::Bytes rows =
          maker.make_rows({.kind = kind}, bytes, {.size = {.width = 40, .height = 30}, .steps = steps});
      if (rows.size() > size * bale::transform_detail::k_target_bytes_per_stored) std::abort();
      if (kind == bale::FieldKind::boxes) {
        require_sane(rows);
        draw_by(bytes);
      }
    } catch (const bale::Error&) {
    }
  }
  return 0;
}
