#include "bale/loader/transform/targets/move_mask.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/geometry/size_after.hpp"

namespace bale::transform_detail {
namespace {

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
