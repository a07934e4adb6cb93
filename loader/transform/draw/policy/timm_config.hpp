// The configuration strings of timm's auto_augment.py, such as "rand-m9-mstd0.5-inc1".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

// The operations of timm's auto_augment.py, and how a magnitude becomes an argument.

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

/// A member that the chosen family does not have keeps its default.
struct TimmConfig {
  enum class Family : std::uint8_t { policy, rand, augmix };

  Family family = Family::rand;
  std::span<const TimmSubPolicy> policy{};     // policy: one of them is drawn
  std::span<const TimmWeighted> operations{};  // rand, augmix
  bool is_weighted = false;                    // rand: operations are drawn by weight, each at most once
  double magnitude = 10;                       // rand, augmix
  TimmNoise noise{};
  std::uint32_t num_operations = 2;  // rand: n
  double p = 0.5;                    // rand: of each operation
  std::uint32_t num_chains = 3;      // augmix: w
  std::uint32_t depth = 0;           // augmix: d; 0: drawn from 1 to 3
  double alpha = 1;                  // augmix: a
  bool blends_each = false;          // augmix: b
};

/// Throws `invalid_argument`, naming the part of the string that is unknown or out of range.
TimmConfig parse_timm_config(std::string_view config);

/// "original", "originalr", "v0", "v0r" or "3a"; empty for other names.
std::span<const TimmSubPolicy> timm_policy(std::string_view name);

/// "weights", "3aw", "3a", or "" for the usual set, which `increasing` chooses a variant of; empty for other names.
std::span<const TimmWeighted> timm_rand_operations(std::string_view name, bool increasing);

std::span<const TimmWeighted> timm_augmix_operations();

}  // namespace bale::transform_detail
