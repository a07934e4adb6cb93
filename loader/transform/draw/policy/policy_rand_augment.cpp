// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include <span>

#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/policy_limits.hpp"
#include "bale/loader/transform/draw/policy/policy_operations.hpp"

namespace bale::transform_detail {

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

}  // namespace bale::transform_detail
