// AugmentDraw: the random parameters of one image. They depend only on (seed, epoch, sample, copy), the transform and
// the size of the image, and are the same in every process and on every machine.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <array>
#include <cstdint>

#include "bale/loader/transform/transform.hpp"

namespace bale {

/// What a draw depends on, in addition to the transform and the image's size.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
  std::uint64_t copy = 0;
  std::uint64_t view = 0;  // of one sample in one row: views draw independently
};

struct AugmentDraw {
  enum class Step : std::uint8_t { brightness, contrast, saturation, hue };

  Region crop{};        // of the source image, in pixels
  bool flip = false;    // mirror after resizing
  bool gray = false;    // convert to gray, as the last step
  bool jitter = false;  // apply the factors below, in `order`
  std::array<Step, 4> order{Step::brightness, Step::contrast, Step::saturation, Step::hue};
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;
  /// What RandomIoUCrop of a list takes, in pixels of the image before it. Width 0: it leaves the image as it is. It is
  /// kept because it depends on boxes, too.
  Region iou_crop{};
};

/// Draws the parameters for an image of width x height pixels. For Transform::Kind::train, as torchvision's
/// RandomResizedCrop.get_params (ten tries, then the central crop of the nearest ratio), RandomHorizontalFlip,
/// ColorJitter.get_params and RandomGrayscale, but with KeyedRandom and with our own exp and log, so that crops do not
/// depend on the math library. For other kinds: the whole image, without changes.
AugmentDraw draw_augment(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height);

}  // namespace bale
