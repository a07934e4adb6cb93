"""Mutations of what augmentation policies draw."""
from mutations.mutation import Mutation

DRAW = "policy_draw"
DRAWS = "loader/transform/draw/policy/"

MUTATIONS = [
    Mutation("magnitudes have no sign", DRAWS + "policy_operations.cpp",
             "  return space.is_signed() && random.uniform() < 0.5 ? -magnitude : magnitude;\n", "  return magnitude;\n",
             (DRAW, "TrivialAugmentWide*")),
    Mutation("bits are rounded down", DRAWS + "policy_operations.cpp", "  return round_half_even(std::max(bits, 0.0F));\n",
             "  return std::floor(std::max(bits, 0.0F));\n", (DRAW, "RandAugment*")),
    Mutation("translations are not whole pixels", DRAWS + "policy_operations.cpp",
             "      return affine({1, 0, -std::trunc(magnitude), 0, 1, 0}, options);\n",
             "      return affine({1, 0, -magnitude, 0, 1, 0}, options);\n", (DRAW, "RandAugment*")),
    Mutation("AutoAugment ignores probabilities", DRAWS + "policy_torchvision.cpp",
             "    if (random.uniform() >= chance.p) continue;\n", "", (DRAW, "AutoAugment*")),
    Mutation("AugMix ignores its severity", DRAWS + "policy_torchvision.cpp", "random.below(policy.severity)",
             "random.below(policy.severity + 1)", (DRAW, "AugMix*")),
    Mutation("AugMix without all_ops has all", DRAWS + "policy_torchvision.cpp", "(policy.all_ops ? 0 : k_num_adjustments)",
             "0", (DRAW, "AugMix*")),
    Mutation("timm's magnitudes have no noise", DRAWS + "timm_config.cpp",
             "    magnitude += noise.deviation * portable_normal(random);\n", "", (DRAW, "timm's rand*")),
    Mutation("timm's magnitudes have no limit", DRAWS + "timm_config.cpp",
             "  return std::clamp(magnitude, 0.0, noise.most);\n", "  return std::max(magnitude, 0.0);\n",
             (DRAW, "timm's arguments*")),
    Mutation("timm's factors fall below 0.1", DRAWS + "timm_config.cpp", "constexpr double k_least_factor = 0.1;",
             "constexpr double k_least_factor = -10;", (DRAW, "timm's arguments*")),
    Mutation("timm's weighted operations repeat", DRAWS + "policy_timm.cpp",
             "    weights[last] = 0;  // `last` is `chosen`, unless rounding left a rest\n", "", (DRAW, "timm's weighted*")),
    Mutation("timm's AugMix moves as far as its RandAugment", DRAWS + "policy_timm.cpp",
             "constexpr double k_augmix_translate_share = 0.3;", "constexpr double k_augmix_translate_share = 0.45;",
             (DRAW, "timm's AugMix*")),
    Mutation("unknown parts of timm's strings are ignored", DRAWS + "timm_config.cpp",
             "    refuse(\"unknown part\");\n", "    refuse(\"\");\n", (DRAW, "Unknown parts*")),
    Mutation("a part of timm's strings may come twice", DRAWS + "timm_config.cpp",
             "    if (!seen.insert(key).second) part.refuse(\"second part of its kind:\");\n", "    seen.insert(key);\n",
             (DRAW, "Unknown parts*")),
    Mutation("shares of a Dirichlet draw do not add up", "loader/transform/random/portable_math.cpp",
             "  for (double& share : shares) share /= sum;\n", "  for (double& share : shares) share /= sum + 1;\n",
             (DRAW, "Beta*")),
]
