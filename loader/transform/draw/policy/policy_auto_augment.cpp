// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include <array>
#include <span>

#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/policy_operations.hpp"

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

}  // namespace bale::transform_detail
