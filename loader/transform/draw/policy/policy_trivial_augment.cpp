// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include <array>

#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/policy_limits.hpp"
#include "bale/loader/transform/draw/policy/policy_operations.hpp"

namespace bale::transform_detail {
namespace {

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

}  // namespace

void draw_policy(const transforms::TrivialAugmentWide& policy, KeyedRandom& random, Drawing& drawing) {
  const OperationSpace& space = k_wide_space[random.below(k_wide_space.size())];
  const auto bin = static_cast<std::uint32_t>(space.has_magnitude() ? random.below(policy.num_magnitude_bins) : 0);
  const double magnitude = draw_magnitude(space, bin, policy.num_magnitude_bins, drawing, random);
  add_operation(space.operation, magnitude, {policy.interpolation, policy.fill}, drawing);
}

void check_policy(const transforms::TrivialAugmentWide& policy) {
  check_limit("num_magnitude_bins", policy.num_magnitude_bins, 2, k_max_bins);
}

}  // namespace bale::transform_detail
