// Which transforms images of a mode can take: what torchvision does with PIL images of that mode.
#include <algorithm>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::transform_detail {
namespace {

[[noreturn]] void refuse_mode(const std::string& place, std::string_view what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, what));
}

template <typename Node, typename... Some>
constexpr bool is_one_of = (std::is_same_v<Node, Some> || ...);

/// Those that contain others, and the end of a list.
template <typename Node>
constexpr bool is_control = is_one_of<Node, transforms::Compose, transforms::RandomApply, transforms::RandomChoice,
                                      transforms::RandomOrder, transforms::ToDtype>;

template <typename Node>
constexpr bool is_crop_flip_or_resize =
    is_one_of<Node, transforms::Resize, transforms::CenterCrop, transforms::RandomCrop, transforms::RandomResizedCrop,
              transforms::PadTo, transforms::RandomHorizontalFlip, transforms::RandomVerticalFlip,
              transforms::ScaleJitter, transforms::RandomResize, transforms::RandomShortestSize,
              transforms::RandomIoUCrop, transforms::ClampBoundingBoxes, transforms::SanitizeBoundingBoxes>;

/// Pillow's ImageOps and torchvision refuse RGBA there, or change the mode.
template <typename Node>
constexpr bool refuses_rgba =
    is_one_of<Node, transforms::Grayscale, transforms::RandomGrayscale, transforms::RandomPhotometricDistort,
              transforms::RandomSolarize, transforms::RandomPosterize, transforms::RandomEqualize,
              transforms::RandomAutocontrast, transforms::RandomInvert, transforms::RandomChannelPermutation,
              transforms::AutoAugment, transforms::RandAugment, transforms::TrivialAugmentWide, transforms::AugMix,
              transforms::TimmAutoAugment>;

template <typename Values>
bool are_equal(const Values& values) {
  return std::all_of(values.begin(), values.end(), [&](auto value) { return value == values[0]; });
}

/// A color has three values, and pixels of other modes do not.
template <typename Node>
void check_colors(const Node& node, const std::string& place) {
  for_members(node, [&](const char* name, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Color>) {
      if (!are_equal(member)) refuse_mode(place, fmt::format("{} must be one number unless images are RGB", name));
    }
  });
  if constexpr (std::is_same_v<Node, transforms::RandomErasing>) {
    if (!are_equal(node.value)) refuse_mode(place, "value must be one number unless images are RGB");
  }
}

template <typename Node>
void check_16(const Node& node, const std::string& place) {
  if constexpr (std::is_same_v<Node, transforms::RandomCrop>) {
    if (node.padding || node.pad_if_needed) refuse_mode(place, "padding is not possible in images of mode I;16");
  } else if constexpr (std::is_same_v<Node, transforms::ToDtype>) {
    refuse_mode(place, "mode I;16 yields uint16; convert in the training loop");
  } else if constexpr (!is_control<Node> && !is_crop_flip_or_resize<Node>) {
    refuse_mode(place, "images of mode I;16 can be cropped, flipped and resized only");
  }
}

template <typename Node>
void check_node(const Node& node, PixelMode mode, std::uint32_t channels, const std::string& place) {
  if (channels != 3) check_colors(node, place);
  if (mode == PixelMode::gray_16) check_16(node, place);
  if constexpr (refuses_rgba<Node>) {
    if (mode == PixelMode::rgba)
      refuse_mode(place, "torchvision does not do this to PIL images of mode RGBA; use mode RGB");
  }
}

void check_nodes(const TransformList& list, PixelMode mode, std::uint32_t channels, const std::string& place) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::visit(
        [&](const auto& node) {
          const std::string here = fmt::format("{}[{}].{}", place, i, name_of(&node));
          check_node(node, mode, channels, here);
          if (const TransformList* children = children_of(list[i])) check_nodes(*children, mode, channels, here);
        },
        as_variant(list[i]));
  }
}

/// Number of channels that the last Grayscale leaves; 0 without one.
std::uint32_t last_grayscale(const TransformList& list) {
  std::uint32_t last = 0;
  for (const TransformNode& node : list) {
    if (const auto* grayscale = std::get_if<transforms::Grayscale>(&node)) last = grayscale->num_output_channels;
    if (const auto* compose = std::get_if<transforms::Compose>(&node)) {
      if (const std::uint32_t inner = last_grayscale(compose->transforms); inner != 0) last = inner;
    }
  }
  return last;
}

}  // namespace

void check_mode(const TransformList& list, PixelMode mode, std::uint32_t channels) {
  check_nodes(list, mode, channels, "transforms");
}

bool ends_in_one_channel(const TransformList& list) { return last_grayscale(list) == 1; }

}  // namespace bale::transform_detail
