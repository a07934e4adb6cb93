#include "bale/loader/transform/view.hpp"

#include <cstring>
#include <span>

#include "bale/loader/transform/erase.hpp"

namespace bale::transform_detail {
namespace {

bool is_after_conversion(const Step& step) {
  const auto* const erase = std::get_if<step::Erase>(&step);
  return erase != nullptr && erase->converted;
}

}  // namespace

void View::draw(const DrawKey& key, std::uint32_t width, std::uint32_t height) {
  steps_.clear();
  drawer_.draw(key, width, height, steps_);
  start_ = fuse_start(steps_, width, height);
}

/// Resizes: the pixels after the first steps.
void View::make_start(const PixelView& decoded, Resizer& resizer, std::uint8_t* rgb) const {
  const std::size_t stride = std::size_t{start_.width()} * 3;
  if (start_.resize) return resizer.run(*start_.resize, decoded, rgb, stride);
  for (std::uint32_t y = 0; y < decoded.height; ++y) {
    std::memcpy(rgb + y * stride, decoded.rgb + y * decoded.stride, stride);
  }
}

void View::make(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const {
  const std::span<const Step> rest = std::span<const Step>(steps_).subspan(start_.num_steps);
  if (rest.empty() && transform_.dtype == DType::uint8 && transform_.layout == PixelLayout::nhwc) {
    return make_start(decoded, scratch.resizer, reinterpret_cast<std::uint8_t*>(out.data()));
  }
  Picture& picture = scratch.picture;
  picture.width = start_.width();
  picture.height = start_.height();
  picture.channels = 3;
  if (picture.pixels.size() < picture.size()) picture.pixels.resize(picture.size());
  make_start(decoded, scratch.resizer, picture.pixels.data());

  std::size_t num_before = rest.size();  // conversion
  while (num_before > 0 && is_after_conversion(rest[num_before - 1])) --num_before;
  scratch.runner.run(rest.first(num_before), picture);
  converter_.run({picture.pixels.data(), picture.stride(), picture.width, picture.height}, transform_.width,
                 transform_.height, out.data());
  for (const Step& step : rest.subspan(num_before)) erase_converted(std::get<step::Erase>(step), transform_, out);
}

}  // namespace bale::transform_detail
