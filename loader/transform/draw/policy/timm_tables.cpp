// Source: timm 1.0.15, data/auto_augment.py.
#include "bale/loader/transform/draw/policy/timm_config.hpp"

#include <array>
#include <cstddef>

namespace bale::transform_detail {
namespace {

using Operation = TimmOperation;

constexpr std::array<TimmSubPolicy, 25> k_v0{{
    {{{Operation::equalize, 0.8, 1}, {Operation::shear_y, 0.8, 4}}},
    {{{Operation::color, 0.4, 9}, {Operation::equalize, 0.6, 3}}},
    {{{Operation::color, 0.4, 1}, {Operation::rotate, 0.6, 8}}},
    {{{Operation::solarize, 0.8, 3}, {Operation::equalize, 0.4, 7}}},
    {{{Operation::solarize, 0.4, 2}, {Operation::solarize, 0.6, 2}}},
    {{{Operation::color, 0.2, 0}, {Operation::equalize, 0.8, 8}}},
    {{{Operation::equalize, 0.4, 8}, {Operation::solarize_add, 0.8, 3}}},
    {{{Operation::shear_x, 0.2, 9}, {Operation::rotate, 0.6, 8}}},
    {{{Operation::color, 0.6, 1}, {Operation::equalize, 1.0, 2}}},
    {{{Operation::invert, 0.4, 9}, {Operation::rotate, 0.6, 0}}},
    {{{Operation::equalize, 1.0, 9}, {Operation::shear_y, 0.6, 3}}},
    {{{Operation::color, 0.4, 7}, {Operation::equalize, 0.6, 0}}},
    {{{Operation::posterize, 0.4, 6}, {Operation::auto_contrast, 0.4, 7}}},
    {{{Operation::solarize, 0.6, 8}, {Operation::color, 0.6, 9}}},
    {{{Operation::solarize, 0.2, 4}, {Operation::rotate, 0.8, 9}}},
    {{{Operation::rotate, 1.0, 7}, {Operation::translate_y_rel, 0.8, 9}}},
    {{{Operation::shear_x, 0.0, 0}, {Operation::solarize, 0.8, 4}}},
    {{{Operation::shear_y, 0.8, 0}, {Operation::color, 0.6, 4}}},
    {{{Operation::color, 1.0, 0}, {Operation::rotate, 0.6, 2}}},
    {{{Operation::equalize, 0.8, 4}, {Operation::equalize, 0.0, 8}}},
    {{{Operation::equalize, 1.0, 4}, {Operation::auto_contrast, 0.6, 2}}},
    {{{Operation::shear_y, 0.4, 7}, {Operation::solarize_add, 0.6, 7}}},
    {{{Operation::posterize, 0.8, 2}, {Operation::solarize, 0.6, 10}}},
    {{{Operation::solarize, 0.6, 8}, {Operation::equalize, 0.6, 1}}},
    {{{Operation::color, 0.8, 6}, {Operation::rotate, 0.4, 5}}},
}};

constexpr std::array<TimmSubPolicy, 25> k_original{{
    {{{Operation::posterize_original, 0.4, 8}, {Operation::rotate, 0.6, 9}}},
    {{{Operation::solarize, 0.6, 5}, {Operation::auto_contrast, 0.6, 5}}},
    {{{Operation::equalize, 0.8, 8}, {Operation::equalize, 0.6, 3}}},
    {{{Operation::posterize_original, 0.6, 7}, {Operation::posterize_original, 0.6, 6}}},
    {{{Operation::equalize, 0.4, 7}, {Operation::solarize, 0.2, 4}}},
    {{{Operation::equalize, 0.4, 4}, {Operation::rotate, 0.8, 8}}},
    {{{Operation::solarize, 0.6, 3}, {Operation::equalize, 0.6, 7}}},
    {{{Operation::posterize_original, 0.8, 5}, {Operation::equalize, 1.0, 2}}},
    {{{Operation::rotate, 0.2, 3}, {Operation::solarize, 0.6, 8}}},
    {{{Operation::equalize, 0.6, 8}, {Operation::posterize_original, 0.4, 6}}},
    {{{Operation::rotate, 0.8, 8}, {Operation::color, 0.4, 0}}},
    {{{Operation::rotate, 0.4, 9}, {Operation::equalize, 0.6, 2}}},
    {{{Operation::equalize, 0.0, 7}, {Operation::equalize, 0.8, 8}}},
    {{{Operation::invert, 0.6, 4}, {Operation::equalize, 1.0, 8}}},
    {{{Operation::color, 0.6, 4}, {Operation::contrast, 1.0, 8}}},
    {{{Operation::rotate, 0.8, 8}, {Operation::color, 1.0, 2}}},
    {{{Operation::color, 0.8, 8}, {Operation::solarize, 0.8, 7}}},
    {{{Operation::sharpness, 0.4, 7}, {Operation::invert, 0.6, 8}}},
    {{{Operation::shear_x, 0.6, 5}, {Operation::equalize, 1.0, 9}}},
    {{{Operation::color, 0.4, 0}, {Operation::equalize, 0.6, 3}}},
    {{{Operation::equalize, 0.4, 7}, {Operation::solarize, 0.2, 4}}},
    {{{Operation::solarize, 0.6, 5}, {Operation::auto_contrast, 0.6, 5}}},
    {{{Operation::invert, 0.6, 4}, {Operation::equalize, 1.0, 8}}},
    {{{Operation::color, 0.6, 4}, {Operation::contrast, 1.0, 8}}},
    {{{Operation::equalize, 0.8, 8}, {Operation::equalize, 0.6, 3}}},
}};

constexpr std::array<TimmSubPolicy, 3> k_3a{{
    {{{Operation::solarize, 1.0, 5}}},
    {{{Operation::desaturate, 1.0, 10}}},
    {{{Operation::gaussian_blur_rand, 1.0, 10}}},
}};

constexpr std::array<TimmWeighted, 15> k_rand{{
    {Operation::auto_contrast},
    {Operation::equalize},
    {Operation::invert},
    {Operation::rotate},
    {Operation::posterize},
    {Operation::solarize},
    {Operation::solarize_add},
    {Operation::color},
    {Operation::contrast},
    {Operation::brightness},
    {Operation::sharpness},
    {Operation::shear_x},
    {Operation::shear_y},
    {Operation::translate_x_rel},
    {Operation::translate_y_rel},
}};

constexpr std::array<TimmWeighted, 15> k_rand_increasing{{
    {Operation::auto_contrast},
    {Operation::equalize},
    {Operation::invert},
    {Operation::rotate},
    {Operation::posterize_increasing},
    {Operation::solarize_increasing},
    {Operation::solarize_add},
    {Operation::color_increasing},
    {Operation::contrast_increasing},
    {Operation::brightness_increasing},
    {Operation::sharpness_increasing},
    {Operation::shear_x},
    {Operation::shear_y},
    {Operation::translate_x_rel},
    {Operation::translate_y_rel},
}};

constexpr std::array<TimmWeighted, 3> k_rand_3a{{
    {Operation::solarize_increasing},
    {Operation::desaturate},
    {Operation::gaussian_blur},
}};

constexpr std::array<TimmWeighted, 14> k_rand_3a_weighted{{
    {Operation::solarize_increasing, 6},
    {Operation::desaturate, 6},
    {Operation::gaussian_blur, 6},
    {Operation::rotate, 3},
    {Operation::shear_x, 2},
    {Operation::shear_y, 2},
    {Operation::posterize_increasing, 1},
    {Operation::auto_contrast, 1},
    {Operation::color_increasing, 1},
    {Operation::sharpness_increasing, 1},
    {Operation::contrast_increasing, 1},
    {Operation::brightness_increasing, 1},
    {Operation::equalize, 1},
    {Operation::invert, 1},
}};

constexpr std::array<TimmWeighted, 15> k_rand_weights{{
    {Operation::rotate, 3},
    {Operation::shear_x, 2},
    {Operation::shear_y, 2},
    {Operation::translate_x_rel, 1},
    {Operation::translate_y_rel, 1},
    {Operation::color_increasing, 0.25},
    {Operation::sharpness_increasing, 0.25},
    {Operation::auto_contrast, 0.25},
    {Operation::solarize_increasing, 0.05},
    {Operation::solarize_add, 0.05},
    {Operation::contrast_increasing, 0.05},
    {Operation::brightness_increasing, 0.05},
    {Operation::equalize, 0.05},
    {Operation::posterize_increasing, 0.05},
    {Operation::invert, 0.05},
}};

constexpr std::array<TimmWeighted, 13> k_augmix{{
    {Operation::auto_contrast},
    {Operation::color_increasing},
    {Operation::contrast_increasing},
    {Operation::brightness_increasing},
    {Operation::sharpness_increasing},
    {Operation::equalize},
    {Operation::rotate},
    {Operation::posterize_increasing},
    {Operation::solarize_increasing},
    {Operation::shear_x},
    {Operation::shear_y},
    {Operation::translate_x_rel},
    {Operation::translate_y_rel},
}};

/// The same policy with posterize_increasing for `posterize`.
template <std::size_t Size>
constexpr std::array<TimmSubPolicy, Size> researched(std::array<TimmSubPolicy, Size> policy, Operation posterize) {
  for (TimmSubPolicy& sub_policy : policy) {
    for (TimmChance& chance : sub_policy) {
      if (chance.operation == posterize) chance.operation = Operation::posterize_increasing;
    }
  }
  return policy;
}

constexpr auto k_v0r = researched(k_v0, Operation::posterize);
constexpr auto k_originalr = researched(k_original, Operation::posterize_original);

}  // namespace

std::span<const TimmSubPolicy> timm_policy(std::string_view name) {
  if (name == "original") return k_original;
  if (name == "originalr") return k_originalr;
  if (name == "v0") return k_v0;
  if (name == "v0r") return k_v0r;
  if (name == "3a") return k_3a;
  return {};
}

std::span<const TimmWeighted> timm_rand_operations(std::string_view name, bool increasing) {
  if (name == "weights") return k_rand_weights;
  if (name == "3aw") return k_rand_3a_weighted;
  if (name == "3a") return k_rand_3a;
  if (!name.empty()) return {};
  if (increasing) return k_rand_increasing;
  return k_rand;
}

std::span<const TimmWeighted> timm_augmix_operations() { return k_augmix; }

}  // namespace bale::transform_detail
