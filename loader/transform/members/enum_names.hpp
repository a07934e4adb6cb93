// The names of enumerators in JSON.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/loader/transform/members/step_enum_names.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// The names of enumerators of steps are the same.
template <typename Enum>
constexpr auto names_of(const Enum* none) -> decltype(step_names_of(none)) {
  return step_names_of(none);
}
constexpr auto names_of(const transforms::AutoAugment::Policy*) {
  using Policy = transforms::AutoAugment::Policy;
  return StepEnumNames<Policy, 3>{
      {{"imagenet", Policy::imagenet}, {"cifar10", Policy::cifar10}, {"svhn", Policy::svhn}}};
}
constexpr auto names_of(const DType*) {
  StepEnumNames<DType, k_dtypes.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {dtype_name(k_dtypes[i]), k_dtypes[i]};
  return names;
}

}  // namespace bale::transform_detail
