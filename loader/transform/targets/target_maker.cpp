#include "bale/loader/transform/targets/target_maker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/png/mask.hpp"
#include "bale/loader/transform/targets/box_format.hpp"
#include "bale/loader/transform/targets/read_targets.hpp"

namespace bale::transform_detail {
namespace {

template <typename Value>
void store_values(const Mask& mask, MutableBytes out) {
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    const auto value = static_cast<Value>(mask.values[i]);
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
}

/// `row_of` makes the row of a target that the steps have moved.
template <typename Targets, typename RowOf>
void store_rows(Targets targets, const ImageSteps& image, std::vector<std::byte>& rows, const RowOf& row_of) {
  Canvas canvas = image.size;
  move_targets(image.steps, canvas, targets);
  rows.clear();
  for (const auto& target : targets) {
    const auto row = row_of(target);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&row);
    rows.insert(rows.end(), bytes, bytes + sizeof row);
  }
}

/// While they move, the label of each box is its place in the list, because steps may drop some.
void store_boxes(NumberedBoxes read, const Field& field, const ImageSteps& image, std::vector<std::byte>& rows) {
  std::vector<std::int64_t> labels;
  for (Box& box : read.boxes) labels.push_back(std::exchange(box.label, static_cast<std::int64_t>(labels.size())));
  store_rows(std::move(read.boxes), image, rows, [&](const Box& box) {
    const auto place = static_cast<std::size_t>(box.label);
    BoxRow row{.box = {}, .label = labels[place], .number = read.numbers[place]};
    const auto numbers = from_corners(box, field.box_format);
    std::copy(numbers.begin(), numbers.end(), row.box);
    return row;
  });
}

}  // namespace

void TargetMaker::make_mask(const Field& field, Bytes stored, const ImageSteps& image, MutableBytes out) {
  Mask mask = decode_mask(stored, max_pixels_);
  if (mask.width != image.size.width || mask.height != image.size.height) {
    throw Error(ErrorCode::unsupported, fmt::format("mask of {}x{} pixels for an image of {}x{}", mask.width,
                                                    mask.height, image.size.width, image.size.height));
  }
  masks_.move(image.steps, field.fill, mask);
  const std::uint64_t value_bytes = array_type_bytes(field.type);
  if (mask.values.size() * value_bytes != out.size()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("mask of {}x{} pixels after the transform, unlike the image", mask.width, mask.height));
  }
  if (value_bytes == 8) return store_values<std::int64_t>(mask, out);
  if (value_bytes == 4) return store_values<std::int32_t>(mask, out);
  const auto largest = std::max_element(mask.values.begin(), mask.values.end());
  if (largest != mask.values.end() && *largest > 255) {
    throw Error(ErrorCode::unsupported, fmt::format("mask with the value {}, which uint8 does not have", *largest),
                {.hint = "give the field the dtype int64"});
  }
  store_values<std::uint8_t>(mask, out);
}

Bytes TargetMaker::make_rows(const Field& field, Bytes stored, const ImageSteps& image) {
  if (field.kind == FieldKind::boxes) {
    store_boxes(read_boxes(stored, field), field, image, rows_);
  } else {
    store_rows(read_keypoints(stored), image, rows_,
               [](const KeyPoint& point) { return KeyPointRow{.x = point.x, .y = point.y, .label = point.label}; });
  }
  return rows_;
}

}  // namespace bale::transform_detail
