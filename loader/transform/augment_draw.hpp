// AugmentDraw: the random parameters of one image, drawn from (seed, epoch, sample, copy) and its size alone.
//
// Pure functions: any process, machine or test that asks again is told the same.
#pragma once

#include <array>
#include <cstdint>

#include "bale/loader/transform/transform.hpp"

namespace bale {

/// What a draw depends on besides the transform and the image's size.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
  std::uint64_t copy = 0;
};

struct AugmentDraw {
  enum class Step : std::uint8_t { brightness, contrast, saturation, hue };

  Region crop{};        // of the source image
  bool flip = false;    // after resizing
  bool grey = false;    // last
  bool jitter = false;  // whether the factors below are to be applied, in `order`
  std::array<Step, 4> order{Step::brightness, Step::contrast, Step::saturation, Step::hue};
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;
};

/// torchvision's RandomResizedCrop.get_params (ten tries, then the central crop of the nearest ratio),
/// RandomHorizontalFlip, ColorJitter.get_params and RandomGrayscale, from our own counter-based generator; exp and log
/// are our own too, so that no mathematical library can move a crop by a pixel. For other kinds than train: the whole
/// image, no flip.
AugmentDraw draw_augment(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height);

}  // namespace bale
