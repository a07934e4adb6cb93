// Moves masks by the steps that an image takes.
#pragma once

#include <cstdint>
#include <span>

#include "bale/formats/image/png/mask.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"

namespace bale::transform_detail {

/// Changes masks; reuses its memory. Threads: used by one thread at a time.
class MaskMover {
 public:
  /// Crops, resizes, flips, pads and warps as the image, with the pixels that Pillow's nearest gives. `fill` is the
  /// value of pixels from outside the image. Other steps change nothing. Throws `unsupported` for step::Mixture, and
  /// what StepRunner::run() throws.
  void move(std::span<const Step> steps, std::uint16_t fill, Mask& mask);

 private:
  void run_plane(const Steps& steps, unsigned shift, const Mask& mask);

  StepRunner runner_{};
  Picture plane_{};
};

}  // namespace bale::transform_detail
