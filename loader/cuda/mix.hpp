// Mixup and cutmix: which share of another image each image of a batch gets. Pure functions.
#pragma once

#include <cstdint>

namespace bale {

/// After torchvision.transforms.v2.MixUp and CutMix, with timm's names: every image is mixed with the one before it in
/// its batch, all of a batch alike. 0 leaves a kind out.
struct MixOptions {
  double mixup_alpha = 0;           // shares are drawn from Beta(alpha, alpha)
  double cutmix_alpha = 0;          // the same for the pasted box's area
  double probability = 1;           // that a batch is mixed at all
  double switch_probability = 0.5;  // where both kinds are on: that it is cutmix

  bool active() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};

/// Throws `invalid_argument`, naming the option.
void check_mix(const MixOptions& options);

/// For all images of one batch.
struct MixDraw {
  double share = 1;     // of the image itself: of its pixels, and of its label in the loss
  bool pastes = false;  // cutmix: the box below is the partner's
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t right = 0;
  std::uint32_t bottom = 0;
};

/// Keyed by the batch's first delivery, so that it is the same after a restart, wherever the epoch was broken off.
struct MixKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;
  std::uint64_t first_copy = 0;  // Pick::copy: two batches of one epoch may begin with the same sample
};

MixDraw draw_mix(const MixOptions& options, const MixKey& key, std::uint32_t width, std::uint32_t height);

}  // namespace bale
