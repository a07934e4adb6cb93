// The name and the members of every step, in one place.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// name_of(const Step*) and for_members(step, visit): visit(name, member) for each member. `Given` may be const.
#define BALE_STEP(Type, ...)                                              \
  constexpr std::string_view name_of(const step::Type*) { return #Type; } \
  template <typename Given, typename Visit>                               \
  requires std::is_same_v<std::remove_const_t<Given>, step::Type>         \
  void for_members([[maybe_unused]] Given& given, [[maybe_unused]] const Visit& visit) { __VA_ARGS__; }
#define BALE_MEMBER(name) visit(#name, given.name)

BALE_STEP(Crop, BALE_MEMBER(left), BALE_MEMBER(top), BALE_MEMBER(width), BALE_MEMBER(height))
BALE_STEP(Pad, BALE_MEMBER(left), BALE_MEMBER(top), BALE_MEMBER(right), BALE_MEMBER(bottom), BALE_MEMBER(mode),
          BALE_MEMBER(fill))
BALE_STEP(Resize, BALE_MEMBER(width), BALE_MEMBER(height), BALE_MEMBER(filter), BALE_MEMBER(pass_order))
BALE_STEP(HorizontalFlip)
BALE_STEP(VerticalFlip)
BALE_STEP(Rotate, BALE_MEMBER(angle), BALE_MEMBER(sampling), BALE_MEMBER(expand), BALE_MEMBER(center),
          BALE_MEMBER(fill))
BALE_STEP(Affine, BALE_MEMBER(matrix), BALE_MEMBER(sampling), BALE_MEMBER(fill))
BALE_STEP(Perspective, BALE_MEMBER(coefficients), BALE_MEMBER(sampling), BALE_MEMBER(fill))
BALE_STEP(Brightness, BALE_MEMBER(factor))
BALE_STEP(Contrast, BALE_MEMBER(factor))
BALE_STEP(Saturation, BALE_MEMBER(factor))
BALE_STEP(Sharpness, BALE_MEMBER(factor))
BALE_STEP(Hue, BALE_MEMBER(turn))
BALE_STEP(Grayscale)
BALE_STEP(Invert)
BALE_STEP(Solarize, BALE_MEMBER(threshold))
BALE_STEP(SolarizeAdd, BALE_MEMBER(add), BALE_MEMBER(threshold))
BALE_STEP(Posterize, BALE_MEMBER(bits))
BALE_STEP(Equalize)
BALE_STEP(AutoContrast)
BALE_STEP(PermuteChannels, BALE_MEMBER(order))
BALE_STEP(GaussianBlur, BALE_MEMBER(kernel_width), BALE_MEMBER(kernel_height), BALE_MEMBER(sigma_x),
          BALE_MEMBER(sigma_y))
BALE_STEP(PillowGaussianBlur, BALE_MEMBER(radius))
BALE_STEP(Erase, BALE_MEMBER(left), BALE_MEMBER(top), BALE_MEMBER(width), BALE_MEMBER(height), BALE_MEMBER(with),
          BALE_MEMBER(value), BALE_MEMBER(noise_seed), BALE_MEMBER(converted))
BALE_STEP(ZeroBoundingBoxes, BALE_MEMBER(left), BALE_MEMBER(top), BALE_MEMBER(width), BALE_MEMBER(height))
BALE_STEP(ClampBoundingBoxes)
BALE_STEP(SanitizeBoundingBoxes, BALE_MEMBER(min_size), BALE_MEMBER(min_area))
BALE_STEP(Mixture, BALE_MEMBER(rule), BALE_MEMBER(share), BALE_MEMBER(weights), BALE_MEMBER(chains))

#undef BALE_MEMBER
#undef BALE_STEP

// The names of enumerators in the JSON of lists and steps.

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
