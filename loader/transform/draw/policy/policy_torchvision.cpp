// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include <array>
#include <span>

#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/policy_operations.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::uint32_t k_num_bins = 10;

struct Chance {
  Operation operation = Operation::identity;
  double p = 1;
  std::uint32_t bin = 0;  // of the magnitude; for operations that have one
};
using SubPolicy = std::array<Chance, 2>;

constexpr std::array<SubPolicy, 25> k_imagenet{{
    {{{Operation::posterize, 0.4, 8}, {Operation::rotate, 0.6, 9}}},
    {{{Operation::solarize, 0.6, 5}, {Operation::auto_contrast, 0.6}}},
    {{{Operation::equalize, 0.8}, {Operation::equalize, 0.6}}},
    {{{Operation::posterize, 0.6, 7}, {Operation::posterize, 0.6, 6}}},
    {{{Operation::equalize, 0.4}, {Operation::solarize, 0.2, 4}}},
    {{{Operation::equalize, 0.4}, {Operation::rotate, 0.8, 8}}},
    {{{Operation::solarize, 0.6, 3}, {Operation::equalize, 0.6}}},
    {{{Operation::posterize, 0.8, 5}, {Operation::equalize, 1.0}}},
    {{{Operation::rotate, 0.2, 3}, {Operation::solarize, 0.6, 8}}},
    {{{Operation::equalize, 0.6}, {Operation::posterize, 0.4, 6}}},
    {{{Operation::rotate, 0.8, 8}, {Operation::color, 0.4, 0}}},
    {{{Operation::rotate, 0.4, 9}, {Operation::equalize, 0.6}}},
    {{{Operation::equalize, 0.0}, {Operation::equalize, 0.8}}},
    {{{Operation::invert, 0.6}, {Operation::equalize, 1.0}}},
    {{{Operation::color, 0.6, 4}, {Operation::contrast, 1.0, 8}}},
    {{{Operation::rotate, 0.8, 8}, {Operation::color, 1.0, 2}}},
    {{{Operation::color, 0.8, 8}, {Operation::solarize, 0.8, 7}}},
    {{{Operation::sharpness, 0.4, 7}, {Operation::invert, 0.6}}},
    {{{Operation::shear_x, 0.6, 5}, {Operation::equalize, 1.0}}},
    {{{Operation::color, 0.4, 0}, {Operation::equalize, 0.6}}},
    {{{Operation::equalize, 0.4}, {Operation::solarize, 0.2, 4}}},
    {{{Operation::solarize, 0.6, 5}, {Operation::auto_contrast, 0.6}}},
    {{{Operation::invert, 0.6}, {Operation::equalize, 1.0}}},
    {{{Operation::color, 0.6, 4}, {Operation::contrast, 1.0, 8}}},
    {{{Operation::equalize, 0.8}, {Operation::equalize, 0.6}}},
}};

constexpr std::array<SubPolicy, 25> k_cifar10{{
    {{{Operation::invert, 0.1}, {Operation::contrast, 0.2, 6}}},
    {{{Operation::rotate, 0.7, 2}, {Operation::translate_x, 0.3, 9}}},
    {{{Operation::sharpness, 0.8, 1}, {Operation::sharpness, 0.9, 3}}},
    {{{Operation::shear_y, 0.5, 8}, {Operation::translate_y, 0.7, 9}}},
    {{{Operation::auto_contrast, 0.5}, {Operation::equalize, 0.9}}},
    {{{Operation::shear_y, 0.2, 7}, {Operation::posterize, 0.3, 7}}},
    {{{Operation::color, 0.4, 3}, {Operation::brightness, 0.6, 7}}},
    {{{Operation::sharpness, 0.3, 9}, {Operation::brightness, 0.7, 9}}},
    {{{Operation::equalize, 0.6}, {Operation::equalize, 0.5}}},
    {{{Operation::contrast, 0.6, 7}, {Operation::sharpness, 0.6, 5}}},
    {{{Operation::color, 0.7, 7}, {Operation::translate_x, 0.5, 8}}},
    {{{Operation::equalize, 0.3}, {Operation::auto_contrast, 0.4}}},
    {{{Operation::translate_y, 0.4, 3}, {Operation::sharpness, 0.2, 6}}},
    {{{Operation::brightness, 0.9, 6}, {Operation::color, 0.2, 8}}},
    {{{Operation::solarize, 0.5, 2}, {Operation::invert, 0.0}}},
    {{{Operation::equalize, 0.2}, {Operation::auto_contrast, 0.6}}},
    {{{Operation::equalize, 0.2}, {Operation::equalize, 0.6}}},
    {{{Operation::color, 0.9, 9}, {Operation::equalize, 0.6}}},
    {{{Operation::auto_contrast, 0.8}, {Operation::solarize, 0.2, 8}}},
    {{{Operation::brightness, 0.1, 3}, {Operation::color, 0.7, 0}}},
    {{{Operation::solarize, 0.4, 5}, {Operation::auto_contrast, 0.9}}},
    {{{Operation::translate_y, 0.9, 9}, {Operation::translate_y, 0.7, 9}}},
    {{{Operation::auto_contrast, 0.9}, {Operation::solarize, 0.8, 3}}},
    {{{Operation::equalize, 0.8}, {Operation::invert, 0.1}}},
    {{{Operation::translate_y, 0.7, 9}, {Operation::auto_contrast, 0.9}}},
}};

constexpr std::array<SubPolicy, 25> k_svhn{{
    {{{Operation::shear_x, 0.9, 4}, {Operation::invert, 0.2}}},
    {{{Operation::shear_y, 0.9, 8}, {Operation::invert, 0.7}}},
    {{{Operation::equalize, 0.6}, {Operation::solarize, 0.6, 6}}},
    {{{Operation::invert, 0.9}, {Operation::equalize, 0.6}}},
    {{{Operation::equalize, 0.6}, {Operation::rotate, 0.9, 3}}},
    {{{Operation::shear_x, 0.9, 4}, {Operation::auto_contrast, 0.8}}},
    {{{Operation::shear_y, 0.9, 8}, {Operation::invert, 0.4}}},
    {{{Operation::shear_y, 0.9, 5}, {Operation::solarize, 0.2, 6}}},
    {{{Operation::invert, 0.9}, {Operation::auto_contrast, 0.8}}},
    {{{Operation::equalize, 0.6}, {Operation::rotate, 0.9, 3}}},
    {{{Operation::shear_x, 0.9, 4}, {Operation::solarize, 0.3, 3}}},
    {{{Operation::shear_y, 0.8, 8}, {Operation::invert, 0.7}}},
    {{{Operation::equalize, 0.9}, {Operation::translate_y, 0.6, 6}}},
    {{{Operation::invert, 0.9}, {Operation::equalize, 0.6}}},
    {{{Operation::contrast, 0.3, 3}, {Operation::rotate, 0.8, 4}}},
    {{{Operation::invert, 0.8}, {Operation::translate_y, 0.0, 2}}},
    {{{Operation::shear_y, 0.7, 6}, {Operation::solarize, 0.4, 8}}},
    {{{Operation::invert, 0.6}, {Operation::rotate, 0.8, 4}}},
    {{{Operation::shear_y, 0.3, 7}, {Operation::translate_x, 0.9, 3}}},
    {{{Operation::shear_x, 0.1, 6}, {Operation::invert, 0.6}}},
    {{{Operation::solarize, 0.7, 2}, {Operation::translate_y, 0.6, 7}}},
    {{{Operation::shear_y, 0.8, 4}, {Operation::invert, 0.8}}},
    {{{Operation::shear_x, 0.7, 9}, {Operation::translate_y, 0.8, 3}}},
    {{{Operation::shear_y, 0.8, 5}, {Operation::auto_contrast, 0.7}}},
    {{{Operation::shear_x, 0.7, 2}, {Operation::invert, 0.1}}},
}};

std::span<const SubPolicy> sub_policies(transforms::AutoAugment::Policy policy) {
  switch (policy) {
    case transforms::AutoAugment::Policy::imagenet:
      return k_imagenet;
    case transforms::AutoAugment::Policy::cifar10:
      return k_cifar10;
    case transforms::AutoAugment::Policy::svhn:
      return k_svhn;
  }
  return k_imagenet;
}

using Unit = OperationSpace::Unit;

constexpr std::array k_wide_space{
    OperationSpace{Operation::identity},
    OperationSpace{Operation::shear_x, Unit::number, 0, 0.99},
    OperationSpace{Operation::shear_y, Unit::number, 0, 0.99},
    OperationSpace{Operation::translate_x, Unit::number, 0, 32},
    OperationSpace{Operation::translate_y, Unit::number, 0, 32},
    OperationSpace{Operation::rotate, Unit::number, 0, 135},
    OperationSpace{Operation::brightness, Unit::number, 0, 0.99},
    OperationSpace{Operation::color, Unit::number, 0, 0.99},
    OperationSpace{Operation::contrast, Unit::number, 0, 0.99},
    OperationSpace{Operation::sharpness, Unit::number, 0, 0.99},
    OperationSpace{Operation::posterize, Unit::whole_bits, 8, 2},
    OperationSpace{Operation::solarize, Unit::number, 1, 0},
    OperationSpace{Operation::auto_contrast},
    OperationSpace{Operation::equalize},
};

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

void draw_policy(const transforms::AutoAugment& policy, KeyedRandom& random, Drawing& drawing) {
  const std::span<const SubPolicy> all = sub_policies(policy.policy);
  for (const Chance& chance : all[random.below(all.size())]) {
    if (random.uniform() >= chance.p) continue;
    const OperationSpace& space = standard_space()[static_cast<std::size_t>(chance.operation)];
    const double magnitude = draw_magnitude(space, chance.bin, k_num_bins, drawing, random);
    add_operation(chance.operation, magnitude, {policy.interpolation, policy.fill}, drawing);
  }
}

void check_policy(const transforms::AutoAugment&) {}

void draw_policy(const transforms::RandAugment& policy, KeyedRandom& random, Drawing& drawing) {
  const std::span<const OperationSpace> spaces = standard_space().first(standard_space().size() - 1);
  for (std::uint32_t i = 0; i < policy.num_ops; ++i) {
    const OperationSpace& space = spaces[random.below(spaces.size())];
    const double magnitude = draw_magnitude(space, policy.magnitude, policy.num_magnitude_bins, drawing, random);
    add_operation(space.operation, magnitude, {policy.interpolation, policy.fill}, drawing);
  }
}

void check_policy(const transforms::RandAugment& policy) {
  check_limit("num_ops", policy.num_ops, 0, k_max_operations);
  check_limit("num_magnitude_bins", policy.num_magnitude_bins, 2, k_max_bins);
  check_limit("magnitude", policy.magnitude, 0, policy.num_magnitude_bins - 1);
}

void draw_policy(const transforms::TrivialAugmentWide& policy, KeyedRandom& random, Drawing& drawing) {
  const OperationSpace& space = k_wide_space[random.below(k_wide_space.size())];
  const auto bin = static_cast<std::uint32_t>(space.has_magnitude() ? random.below(policy.num_magnitude_bins) : 0);
  const double magnitude = draw_magnitude(space, bin, policy.num_magnitude_bins, drawing, random);
  add_operation(space.operation, magnitude, {policy.interpolation, policy.fill}, drawing);
}

void check_policy(const transforms::TrivialAugmentWide& policy) {
  check_limit("num_magnitude_bins", policy.num_magnitude_bins, 2, k_max_bins);
}

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
