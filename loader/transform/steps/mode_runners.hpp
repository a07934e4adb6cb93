// Runs steps on images of other modes than RGB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"

namespace bale::transform_detail {

/// Pillow's convert("RGBa") and back, bit for bit. The first keeps its result, without gaps, in `memory`.
PixelView premultiplied(const PixelView& rgba, std::vector<std::uint8_t>& memory);
void divide_by_alpha(std::uint8_t* rgba, std::size_t num_pixels);

/// Runs steps on an RGBA image with StepRunner, as torchvision's functional transforms do on PIL images of
/// mode RGBA.
///
/// Colors and alpha are two pictures. Steps that move pixels are run on both, after the colors were multiplied by alpha
/// if the step mixes pixels, as Pillow does; steps that change colors leave alpha alone, except Hue, after which Pillow
/// has made the image opaque.
/// Threads: used by one thread at a time.
class AlphaPicture {
 public:
  /// The pixels after the steps, which lie in this object's memory until the next call. Throws what StepRunner::run()
  /// throws, and `invalid_argument` for steps that torchvision does not do to RGBA.
  PixelView run(std::span<const Step> steps, const PixelView& rgba, StepRunner& runner);

 private:
  void split(const PixelView& rgba);
  PixelView join();
  void run_one(const Step& step, StepRunner& runner);
  void multiply();
  void divide();

  Picture colors_{};
  Picture alpha_{};  // in all three channels
  std::vector<std::uint8_t> rgba_{};
};

/// Crops, flips and resizes images of 16-bit gray, as torchvision does PIL images of mode I;16.
///
/// Threads: used by one thread at a time.
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
