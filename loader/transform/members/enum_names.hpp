// The names of enumerators in the JSON of lists and steps.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

template <typename Enum, std::size_t N>
using EnumNames = std::array<std::pair<std::string_view, Enum>, N>;

constexpr auto names_of(const Sampling*) {
  return EnumNames<Sampling, 3>{
      {{"nearest", Sampling::nearest}, {"bilinear", Sampling::bilinear}, {"bicubic", Sampling::bicubic}}};
}
constexpr auto names_of(const Filter*) {
  return EnumNames<Filter, 6>{{{"nearest", Filter::nearest},
                               {"bilinear", Filter::bilinear},
                               {"bicubic", Filter::bicubic},
                               {"box", Filter::box},
                               {"hamming", Filter::hamming},
                               {"lanczos", Filter::lanczos}}};
}
constexpr auto names_of(const PassOrder*) {
  return EnumNames<PassOrder, 2>{{{"pillow_13", PassOrder::pillow_13}, {"pillow_12", PassOrder::pillow_12}}};
}
constexpr auto names_of(const PadMode*) {
  return EnumNames<PadMode, 4>{{{"constant", PadMode::constant},
                                {"edge", PadMode::edge},
                                {"reflect", PadMode::reflect},
                                {"symmetric", PadMode::symmetric}}};
}
constexpr auto names_of(const step::Erase::With*) {
  using With = step::Erase::With;
  return EnumNames<With, 3>{
      {{"value", With::value}, {"channel_noise", With::channel_noise}, {"pixel_noise", With::pixel_noise}}};
}
constexpr auto names_of(const step::Mixture::Rule*) {
  using Rule = step::Mixture::Rule;
  return EnumNames<Rule, 3>{{{"sum", Rule::sum}, {"blend", Rule::blend}, {"blend_each", Rule::blend_each}}};
}
constexpr auto names_of(const transforms::AutoAugment::Policy*) {
  using Policy = transforms::AutoAugment::Policy;
  return EnumNames<Policy, 3>{{{"imagenet", Policy::imagenet}, {"cifar10", Policy::cifar10}, {"svhn", Policy::svhn}}};
}
constexpr auto names_of(const DType*) {
  EnumNames<DType, k_dtypes.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {dtype_name(k_dtypes[i]), k_dtypes[i]};
  return names;
}

}  // namespace bale::transform_detail
