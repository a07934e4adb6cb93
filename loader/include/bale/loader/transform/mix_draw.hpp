// Mixup and cutmix: the random parameters by which the images of a batch are mixed.
//
// Threads: pure functions; may be called from any thread. Draws are the same on every CPU.
// Source: mixup, Zhang et al., 2018; CutMix, Yun et al., 2019; torchvision.transforms.v2.MixUp and CutMix.
#pragma once

#include <cstdint>

namespace bale {

/// Options with timm's names. Every image is mixed with the one before it in its batch, with the same parameters for
/// the whole batch. An alpha of 0 turns that kind off; otherwise it is within [1/16, 10^6].
struct MixOptions {
  double mixup_alpha = 0;           // shares are drawn from Beta(alpha, alpha)
  double cutmix_alpha = 0;          // the same for the area of the pasted box
  double probability = 1;           // that a batch is mixed
  double switch_probability = 0.5;  // that it is cutmix, if both kinds are on

  bool active() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};

/// Throws `invalid_argument`, naming the option, if an option is out of range.
void check_mix(const MixOptions& options);

/// The parameters of one batch.
struct MixDraw {
  double share = 1;     // of the image itself, in its pixels and of its label in the loss; 1: not mixed
  bool pastes = false;  // cutmix: the box of pixels below comes from the partner; right and bottom are exclusive
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t right = 0;
  std::uint32_t bottom = 0;
};

/// What a draw depends on: the first delivery of the batch, so that a draw is the same after a resume.
struct MixKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;
  std::uint64_t first_copy = 0;  // Pick::copy: two batches of one epoch may begin with the same sample
};

/// Draws the parameters of a batch of images of width x height pixels. Preconditions: check_mix(options) passes, both
/// sides are above 0.
MixDraw draw_mix(const MixOptions& options, const MixKey& key, std::uint32_t width, std::uint32_t height);

}  // namespace bale
