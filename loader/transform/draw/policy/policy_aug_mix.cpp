// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include <array>
#include <span>

#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/policy_limits.hpp"
#include "bale/loader/transform/draw/policy/policy_operations.hpp"
#include "bale/loader/transform/random/shares.hpp"

namespace bale::transform_detail {
namespace {

using Unit = OperationSpace::Unit;

constexpr std::uint32_t k_aug_mix_bins = 10;
constexpr std::uint64_t k_max_drawn_depth = 3;
constexpr std::size_t k_num_adjustments = 4;  // the last ones of the table, which only all_ops has

constexpr std::array k_space{
    OperationSpace{Operation::shear_x, Unit::number, 0, 0.3},
    OperationSpace{Operation::shear_y, Unit::number, 0, 0.3},
    OperationSpace{Operation::translate_x, Unit::share_of_width, 0, 1.0 / 3},
    OperationSpace{Operation::translate_y, Unit::share_of_height, 0, 1.0 / 3},
    OperationSpace{Operation::rotate, Unit::number, 0, 30},
    OperationSpace{Operation::posterize, Unit::whole_bits, 4, 0},
    OperationSpace{Operation::solarize, Unit::number, 1, 0},
    OperationSpace{Operation::auto_contrast},
    OperationSpace{Operation::equalize},
    OperationSpace{Operation::brightness, Unit::number, 0, 0.9},
    OperationSpace{Operation::color, Unit::number, 0, 0.9},
    OperationSpace{Operation::contrast, Unit::number, 0, 0.9},
    OperationSpace{Operation::sharpness, Unit::number, 0, 0.9},
};

Steps draw_chain(const transforms::AugMix& policy, const Drawing& drawing, KeyedRandom& random) {
  const std::span<const OperationSpace> spaces =
      std::span(k_space).first(k_space.size() - (policy.all_ops ? 0 : k_num_adjustments));
  const std::uint64_t depth =
      policy.chain_depth > 0 ? static_cast<std::uint64_t>(policy.chain_depth) : 1 + random.below(k_max_drawn_depth);
  Steps chain;
  for (std::uint64_t i = 0; i < depth; ++i) {
    const OperationSpace& space = spaces[random.below(spaces.size())];
    const auto bin = static_cast<std::uint32_t>(space.has_magnitude() ? random.below(policy.severity) : 0);
    const double magnitude = draw_magnitude(space, bin, k_aug_mix_bins, drawing, random);
    const auto step = step_of(space.operation, magnitude, {policy.interpolation, policy.fill});
    if (step) chain.push_back(*step);
  }
  return chain;
}

}  // namespace

void draw_policy(const transforms::AugMix& policy, KeyedRandom& random, Drawing& drawing) {
  const double share = draw_beta(policy.alpha, random);
  step::Mixture mixture{.share = static_cast<float>(share)};
  for (const double weight : draw_dirichlet(policy.alpha, policy.mixture_width, random)) {
    mixture.weights.push_back(static_cast<float>(weight) * static_cast<float>(1 - share));
  }
  for (std::uint32_t i = 0; i < policy.mixture_width; ++i)
    mixture.chains.push_back(draw_chain(policy, drawing, random));
  drawing.add(std::move(mixture));
}

void check_policy(const transforms::AugMix& policy) {
  check_limit("severity", policy.severity, 1, k_aug_mix_bins);
  check_limit("mixture_width", policy.mixture_width, 1, k_max_chains);
  check_limit("chain_depth", policy.chain_depth, INT32_MIN, k_max_operations);
  check_dirichlet_alpha("alpha", policy.alpha);
}

}  // namespace bale::transform_detail
