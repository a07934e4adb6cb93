// The policies of timm's auto_augment.py and the sets that its RandAugment and AugMix draw from.
#pragma once

#include <span>
#include <string_view>

#include "bale/loader/transform/draw/policy/timm_operations.hpp"

namespace bale::transform_detail {

/// "original", "originalr", "v0", "v0r" or "3a"; empty for other names.
std::span<const TimmSubPolicy> timm_policy(std::string_view name);

/// "weights", "3aw", "3a", or "" for the usual set, which `increasing` chooses a variant of; empty for other names.
std::span<const TimmWeighted> timm_rand_operations(std::string_view name, bool increasing);

std::span<const TimmWeighted> timm_augmix_operations();

}  // namespace bale::transform_detail
