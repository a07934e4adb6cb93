// AlphaPicture: runs steps on an RGBA image with StepRunner, as torchvision's functional transforms do on PIL images of
// mode RGBA.
//
// Colors and alpha are two pictures. Steps that move pixels are run on both, after the colors were multiplied by alpha
// if the step mixes pixels, as Pillow does; steps that change colors leave alpha alone, except Hue, after which Pillow
// has made the image opaque.
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"

namespace bale::transform_detail {

/// Pillow's convert("RGBa") and back, bit for bit. The first keeps its result, without gaps, in `memory`.
PixelView premultiplied(const PixelView& rgba, std::vector<std::uint8_t>& memory);
void divide_by_alpha(std::uint8_t* rgba, std::size_t num_pixels);

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

}  // namespace bale::transform_detail
