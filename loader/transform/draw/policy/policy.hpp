// Augmentation policies: which operations they draw, with which magnitudes.
#pragma once

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
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

}  // namespace bale::transform_detail
