// The name and the members of every transform, in one place. Reading and writing JSON, and the random sequences, use
// it.
#pragma once

#include <string_view>

#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// name_of(Node) and for_members(node, visit): visit(name, member) for each member. `Node` may be const.
#define BALE_TRANSFORM(Type, ...)                                               \
  constexpr std::string_view name_of(const transforms::Type*) { return #Type; } \
  template <typename Node, typename Visit>                                      \
  requires std::is_same_v<std::remove_const_t<Node>, transforms::Type>          \
  void for_members([[maybe_unused]] Node& node, [[maybe_unused]] Visit&& visit) { __VA_ARGS__; }
#define BALE_MEMBER(name) visit(#name, node.name)

BALE_TRANSFORM(Resize, BALE_MEMBER(height), BALE_MEMBER(width), BALE_MEMBER(max_size), BALE_MEMBER(interpolation))
BALE_TRANSFORM(CenterCrop, BALE_MEMBER(size))
BALE_TRANSFORM(RandomCrop, BALE_MEMBER(size), BALE_MEMBER(padding), BALE_MEMBER(pad_if_needed), BALE_MEMBER(fill),
               BALE_MEMBER(padding_mode))
BALE_TRANSFORM(RandomResizedCrop, BALE_MEMBER(size), BALE_MEMBER(scale), BALE_MEMBER(ratio), BALE_MEMBER(interpolation))
BALE_TRANSFORM(Pad, BALE_MEMBER(padding), BALE_MEMBER(fill), BALE_MEMBER(padding_mode))
BALE_TRANSFORM(PadIfSmaller, BALE_MEMBER(size), BALE_MEMBER(fill))
BALE_TRANSFORM(FixedSizeCrop, BALE_MEMBER(size), BALE_MEMBER(fill))
BALE_TRANSFORM(PadTo, BALE_MEMBER(size))
BALE_TRANSFORM(RandomHorizontalFlip, BALE_MEMBER(p))
BALE_TRANSFORM(RandomVerticalFlip, BALE_MEMBER(p))
BALE_TRANSFORM(RandomRotation, BALE_MEMBER(degrees), BALE_MEMBER(interpolation), BALE_MEMBER(expand),
               BALE_MEMBER(center), BALE_MEMBER(fill))
BALE_TRANSFORM(RandomAffine, BALE_MEMBER(degrees), BALE_MEMBER(translate), BALE_MEMBER(scale), BALE_MEMBER(shear_x),
               BALE_MEMBER(shear_y), BALE_MEMBER(interpolation), BALE_MEMBER(fill), BALE_MEMBER(center))
BALE_TRANSFORM(RandomPerspective, BALE_MEMBER(distortion_scale), BALE_MEMBER(p), BALE_MEMBER(interpolation),
               BALE_MEMBER(fill))
BALE_TRANSFORM(ScaleJitter, BALE_MEMBER(target_size), BALE_MEMBER(scale_range), BALE_MEMBER(interpolation))
BALE_TRANSFORM(RandomResize, BALE_MEMBER(min_size), BALE_MEMBER(max_size), BALE_MEMBER(interpolation))
BALE_TRANSFORM(RandomShortestSize, BALE_MEMBER(min_size), BALE_MEMBER(max_size), BALE_MEMBER(interpolation))
BALE_TRANSFORM(RandomZoomOut, BALE_MEMBER(fill), BALE_MEMBER(side_range), BALE_MEMBER(p))
BALE_TRANSFORM(RandomIoUCrop, BALE_MEMBER(min_scale), BALE_MEMBER(max_scale), BALE_MEMBER(min_aspect_ratio),
               BALE_MEMBER(max_aspect_ratio), BALE_MEMBER(sampler_options), BALE_MEMBER(trials))
BALE_TRANSFORM(ClampBoundingBoxes)
BALE_TRANSFORM(SanitizeBoundingBoxes, BALE_MEMBER(min_size), BALE_MEMBER(min_area))
BALE_TRANSFORM(ColorJitter, BALE_MEMBER(brightness), BALE_MEMBER(contrast), BALE_MEMBER(saturation), BALE_MEMBER(hue))
BALE_TRANSFORM(Grayscale, BALE_MEMBER(num_output_channels))
BALE_TRANSFORM(RandomGrayscale, BALE_MEMBER(p))
BALE_TRANSFORM(RandomPhotometricDistort, BALE_MEMBER(brightness), BALE_MEMBER(contrast), BALE_MEMBER(saturation),
               BALE_MEMBER(hue), BALE_MEMBER(p))
BALE_TRANSFORM(RandomSolarize, BALE_MEMBER(threshold), BALE_MEMBER(p))
BALE_TRANSFORM(RandomPosterize, BALE_MEMBER(bits), BALE_MEMBER(p))
BALE_TRANSFORM(RandomEqualize, BALE_MEMBER(p))
BALE_TRANSFORM(RandomAutocontrast, BALE_MEMBER(p))
BALE_TRANSFORM(RandomInvert, BALE_MEMBER(p))
BALE_TRANSFORM(RandomAdjustSharpness, BALE_MEMBER(sharpness_factor), BALE_MEMBER(p))
BALE_TRANSFORM(RandomChannelPermutation)
BALE_TRANSFORM(GaussianBlur, BALE_MEMBER(kernel_size), BALE_MEMBER(sigma))
BALE_TRANSFORM(PillowGaussianBlur, BALE_MEMBER(radius))
BALE_TRANSFORM(AutoAugment, BALE_MEMBER(policy), BALE_MEMBER(interpolation), BALE_MEMBER(fill))
BALE_TRANSFORM(RandAugment, BALE_MEMBER(num_ops), BALE_MEMBER(magnitude), BALE_MEMBER(num_magnitude_bins),
               BALE_MEMBER(interpolation), BALE_MEMBER(fill))
BALE_TRANSFORM(TrivialAugmentWide, BALE_MEMBER(num_magnitude_bins), BALE_MEMBER(interpolation), BALE_MEMBER(fill))
BALE_TRANSFORM(AugMix, BALE_MEMBER(severity), BALE_MEMBER(mixture_width), BALE_MEMBER(chain_depth), BALE_MEMBER(alpha),
               BALE_MEMBER(all_ops), BALE_MEMBER(interpolation), BALE_MEMBER(fill))
BALE_TRANSFORM(TimmAutoAugment, BALE_MEMBER(config), BALE_MEMBER(translate_const), BALE_MEMBER(interpolation),
               BALE_MEMBER(fill))
BALE_TRANSFORM(RandomApply, BALE_MEMBER(transforms), BALE_MEMBER(p))
BALE_TRANSFORM(RandomChoice, BALE_MEMBER(transforms), BALE_MEMBER(p))
BALE_TRANSFORM(RandomOrder, BALE_MEMBER(transforms))
BALE_TRANSFORM(Compose, BALE_MEMBER(transforms))
BALE_TRANSFORM(ToDtype, BALE_MEMBER(dtype), BALE_MEMBER(scale))
BALE_TRANSFORM(Normalize, BALE_MEMBER(mean), BALE_MEMBER(std))
BALE_TRANSFORM(RandomErasing, BALE_MEMBER(p), BALE_MEMBER(scale), BALE_MEMBER(ratio), BALE_MEMBER(with),
               BALE_MEMBER(value), BALE_MEMBER(timm), BALE_MEMBER(min_count), BALE_MEMBER(max_count))

#undef BALE_MEMBER
#undef BALE_TRANSFORM

/// The variant that a node is: std::visit takes it.
inline const TransformNode::variant& as_variant(const TransformNode& node) { return node; }

/// Lists inside lists.
inline constexpr int k_max_nesting = 16;

/// Null if there are none. Lives as long as `node`.
inline const TransformList* children_of(const TransformNode& node) {
  if (const auto* compose = std::get_if<transforms::Compose>(&node)) return &compose->transforms;
  if (const auto* apply = std::get_if<transforms::RandomApply>(&node)) return &apply->transforms;
  if (const auto* choice = std::get_if<transforms::RandomChoice>(&node)) return &choice->transforms;
  if (const auto* order = std::get_if<transforms::RandomOrder>(&node)) return &order->transforms;
  return nullptr;
}

}  // namespace bale::transform_detail
