// Augmentation policies: which operations they draw, with which magnitudes.
#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/random/portable_math.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// Each appends the steps that it draws from `random`. Preconditions: check_policy() passes.
void draw_policy(const transforms::AutoAugment& policy, KeyedRandom& random, Drawing& drawing);
void draw_policy(const transforms::RandAugment& policy, KeyedRandom& random, Drawing& drawing);
void draw_policy(const transforms::TrivialAugmentWide& policy, KeyedRandom& random, Drawing& drawing);
void draw_policy(const transforms::AugMix& policy, KeyedRandom& random, Drawing& drawing);
void draw_policy(const transforms::TimmAutoAugment& policy, KeyedRandom& random, Drawing& drawing);

// Each throws `invalid_argument`, naming the parameter, if one is out of range.
void check_policy(const transforms::AutoAugment& policy);
void check_policy(const transforms::RandAugment& policy);
void check_policy(const transforms::TrivialAugmentWide& policy);
void check_policy(const transforms::AugMix& policy);
void check_policy(const transforms::TimmAutoAugment& policy);

// What the numbers of policies are limited to, so that none takes forever.

constexpr std::uint32_t k_max_operations = 64;  // one after another
constexpr std::uint32_t k_max_chains = 64;      // side by side
constexpr std::uint32_t k_max_bins = 65536;

/// Throws `invalid_argument` that begins with `parameter` unless `value` is within [least, most].
inline void check_limit(std::string_view parameter, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} {} is not within [{}, {}]", parameter, value, least, most));
}

/// The same for the alpha of draw_beta() and draw_dirichlet(). NaN is refused.
inline void check_dirichlet_alpha(std::string_view parameter, double alpha) {
  if (alpha >= k_least_alpha && alpha <= k_most_alpha) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} {} is not within [{}, {}]", parameter, alpha, k_least_alpha, k_most_alpha));
}

}  // namespace bale::transform_detail
