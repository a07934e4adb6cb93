// The names of enumerators in the JSON of steps.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

template <typename Enum, std::size_t N>
using StepEnumNames = std::array<std::pair<std::string_view, Enum>, N>;

constexpr auto step_names_of(const Sampling*) {
  return StepEnumNames<Sampling, 3>{
      {{"nearest", Sampling::nearest}, {"bilinear", Sampling::bilinear}, {"bicubic", Sampling::bicubic}}};
}
constexpr auto step_names_of(const Filter*) {
  return StepEnumNames<Filter, 6>{{{"nearest", Filter::nearest},
                                   {"bilinear", Filter::bilinear},
                                   {"bicubic", Filter::bicubic},
                                   {"box", Filter::box},
                                   {"hamming", Filter::hamming},
                                   {"lanczos", Filter::lanczos}}};
}
constexpr auto step_names_of(const PassOrder*) {
  return StepEnumNames<PassOrder, 2>{{{"pillow_13", PassOrder::pillow_13}, {"pillow_12", PassOrder::pillow_12}}};
}
constexpr auto step_names_of(const PadMode*) {
  return StepEnumNames<PadMode, 4>{{{"constant", PadMode::constant},
                                    {"edge", PadMode::edge},
                                    {"reflect", PadMode::reflect},
                                    {"symmetric", PadMode::symmetric}}};
}
constexpr auto step_names_of(const step::Erase::With*) {
  using With = step::Erase::With;
  return StepEnumNames<With, 3>{
      {{"value", With::value}, {"channel_noise", With::channel_noise}, {"pixel_noise", With::pixel_noise}}};
}
constexpr auto step_names_of(const step::Mixture::Rule*) {
  using Rule = step::Mixture::Rule;
  return StepEnumNames<Rule, 3>{{{"sum", Rule::sum}, {"blend", Rule::blend}, {"blend_each", Rule::blend_each}}};
}

}  // namespace bale::transform_detail
