// Gray16Runner: crops, flips and resizes images of 16-bit gray, as torchvision does PIL images of mode I;16.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

class Gray16Runner {
 public:
  /// Memory for an image, which pixels() then points to.
  PixelView make_room(std::uint32_t width, std::uint32_t height);
  std::uint8_t* pixels() { return reinterpret_cast<std::uint8_t*>(values_.data()); }

  /// The pixels after the steps, which lie in this object's memory until the next call. `image` is what make_room()
  /// returned. Throws `invalid_argument` for other steps than crops, flips and resizes.
  PixelView run(std::span<const Step> steps, PixelView image, Resizer& resizer);

 private:
  void run_one(const Step& step, PixelView& image, Resizer& resizer);
  void crop(const step::Crop& crop, PixelView& image);
  void resize_nearest(const step::Resize& resize, PixelView& image);
  void resize(const step::Resize& resize, PixelView& image, Resizer& resizer);

  std::vector<std::uint16_t> values_{};
  std::vector<std::uint16_t> other_{};
};

}  // namespace bale::transform_detail
