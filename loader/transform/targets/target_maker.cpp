#include "bale/loader/transform/targets/target_maker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/png/mask.hpp"
#include "bale/loader/transform/geometry/size_after.hpp"
#include "bale/loader/transform/targets/read_targets.hpp"
#include "bale/loader/transform/targets/target.hpp"

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

/// The steps that move pixels, with the fill of one byte of a mask.
class Geometry {
 public:
  Geometry(std::uint32_t width, std::uint32_t height, std::uint8_t fill)
      : width_(width), height_(height), fill_{fill, fill, fill} {}

  void add(const Step& step) { std::visit(*this, step); }
  Steps take() { return std::move(steps_); }

  void operator()(step::Crop crop) {
    // A step's crop is black outside the image. That part is padded before.
    const auto below = [](std::int64_t side) { return static_cast<std::uint32_t>(std::max<std::int64_t>(side, 0)); };
    const std::uint32_t left = below(-std::int64_t{crop.left});
    const std::uint32_t top = below(-std::int64_t{crop.top});
    const std::uint32_t right = below(std::int64_t{crop.left} + crop.width - width_);
    const std::uint32_t bottom = below(std::int64_t{crop.top} + crop.height - height_);
    if (left + top + right + bottom > 0) {
      (*this)(step::Pad{.left = left, .top = top, .right = right, .bottom = bottom});
      crop.left += static_cast<std::int32_t>(left);
      crop.top += static_cast<std::int32_t>(top);
    }
    append(crop);
  }
  void operator()(step::Pad pad) { append_filled(pad); }
  void operator()(step::Rotate rotate) { append_filled(rotate); }
  void operator()(step::Affine affine) { append_filled(affine); }
  void operator()(step::Perspective perspective) { append_filled(perspective); }
  void operator()(const step::Resize& resize) { append(resize); }
  void operator()(const step::HorizontalFlip& flip) { append(flip); }
  void operator()(const step::VerticalFlip& flip) { append(flip); }
  void operator()(const step::Mixture&) {
    throw Error(ErrorCode::unsupported, "targets cannot follow AugMix: it mixes images of several geometries");
  }
  template <typename Other>
  void operator()(const Other&) {}

 private:
  template <typename Filled>
  void append_filled(Filled& step) {
    step.fill = fill_;
    append(step);
  }
  void append(const Step& step) {
    std::tie(width_, height_) = size_after(step, width_, height_);
    steps_.push_back(step);
  }

  std::uint32_t width_;
  std::uint32_t height_;
  Color fill_;
  Steps steps_{};
};

Steps geometry_of(std::span<const Step> steps, const Mask& mask, std::uint8_t fill) {
  Geometry geometry(mask.width, mask.height, fill);
  for (const Step& step : steps) geometry.add(step);
  return geometry.take();
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

/// The bytes of all values at `shift`, moved; they are in plane_ afterwards.
void MaskMover::run_plane(const Steps& steps, unsigned shift, const Mask& mask) {
  plane_.width = mask.width;
  plane_.height = mask.height;
  plane_.channels = 1;
  if (plane_.pixels.size() < mask.values.size()) plane_.pixels.resize(mask.values.size());
  std::transform(mask.values.begin(), mask.values.end(), plane_.pixels.begin(),
                 [shift](std::uint16_t value) { return static_cast<std::uint8_t>(value >> shift); });
  runner_.run(steps, plane_);
}

void MaskMover::move(std::span<const Step> steps, std::uint16_t fill, Mask& mask) {
  const bool is_wide = fill > 255 || std::any_of(mask.values.begin(), mask.values.end(),
                                                 [](std::uint16_t value) { return value > 255; });
  std::vector<std::uint8_t> high;
  if (is_wide) {
    run_plane(geometry_of(steps, mask, static_cast<std::uint8_t>(fill >> 8)), 8, mask);
    high.assign(plane_.pixels.begin(), plane_.pixels.begin() + static_cast<std::ptrdiff_t>(plane_.size()));
  }
  run_plane(geometry_of(steps, mask, static_cast<std::uint8_t>(fill & 255)), 0, mask);
  mask.width = plane_.width;
  mask.height = plane_.height;
  mask.values.resize(plane_.size());
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    mask.values[i] = static_cast<std::uint16_t>(plane_.pixels[i] | (is_wide ? high[i] << 8 : 0));
  }
}

}  // namespace bale::transform_detail
