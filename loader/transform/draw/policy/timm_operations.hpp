// The operations of timm's auto_augment.py, and how a magnitude becomes an argument.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

enum class TimmOperation : std::uint8_t {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,
  posterize_increasing,
  posterize_original,
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x_rel,
  translate_y_rel,
  desaturate,
  gaussian_blur,
  gaussian_blur_rand,
};

struct TimmChance {
  TimmOperation operation = TimmOperation::auto_contrast;
  double p = 0;
  double magnitude = 10;
};
/// Operations that run one after another. A policy of single ones has a second of probability 0.
using TimmSubPolicy = std::array<TimmChance, 2>;

/// An operation of a set that is drawn from.
struct TimmWeighted {
  TimmOperation operation = TimmOperation::auto_contrast;
  double weight = 1;
};

/// How the magnitude of an operation varies.
struct TimmNoise {
  double deviation = 0;  // of a normal distribution; infinity: uniform from 0 to the magnitude
  double most = 10;      // magnitudes are cut off here and at 0
};

/// What operations need in addition to a magnitude.
struct TimmOptions {
  std::span<const Sampling> samplings{};  // each warp draws one
  Color fill{};
  double translate_share = 0.45;
};

/// Draws whether the operation happens, its magnitude and its argument; nullopt if it changes nothing.
std::optional<Step> draw_timm_step(const TimmChance& chance, const TimmNoise& noise, const TimmOptions& options,
                                   const Drawing& drawing, KeyedRandom& random);

}  // namespace bale::transform_detail
