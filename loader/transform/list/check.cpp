// Conditions are written so that NaN fails them.
#include "bale/loader/transform/list/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::uint32_t k_max_side = 65535;
constexpr std::uint32_t k_max_kernel = 999;
constexpr double k_max_factor = std::numeric_limits<float>::max();

[[noreturn]] void refuse(std::string_view parameter, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{} {}", parameter, what));
}

void check_side(std::string_view parameter, std::uint32_t side) {
  if (side < 1 || side > k_max_side) refuse(parameter, fmt::format("{} is not within [1, {}]", side, k_max_side));
}
void check_size(std::string_view parameter, const Size& size) {
  check_side(parameter, size.height);
  check_side(parameter, size.width);
}
void check_padding(const std::array<std::uint32_t, 4>& padding) {
  for (const std::uint32_t side : padding) {
    if (side > k_max_side) refuse("padding", fmt::format("{} is above {}", side, k_max_side));
  }
}
void check_within(std::string_view parameter, const Range& range, double least, double most) {
  if (!(least <= range.low && range.low <= range.high && range.high <= most)) {
    refuse(parameter, fmt::format("[{}, {}] is not a range within [{}, {}]", range.low, range.high, least, most));
  }
}
void check_positive(std::string_view parameter, const Range& range) {
  if (!(range.low > 0))
    refuse(parameter, fmt::format("[{}, {}] is not a range of positive numbers", range.low, range.high));
  check_within(parameter, range, 0, k_max_factor);
}
void check_factor(std::string_view parameter, const Range& range) { check_within(parameter, range, 0, k_max_factor); }
void check_hue(const Range& range) { check_within("hue", range, -0.5, 0.5); }

/// Every transform with a probability has the member `p`.
template <typename Node>
void check_probability(const Node& node) {
  if constexpr (requires {
                  { node.p } -> std::convertible_to<double>;
                }) {
    if (!(0 <= node.p && node.p <= 1)) refuse("p", fmt::format("{} is not within [0, 1]", node.p));
  }
}

template <typename Node>
void check_parameters(const Node& node) {
  if constexpr (requires { check_policy(node); }) check_policy(node);
}
void check_parameters(const transforms::Resize& node) {
  check_side("height", node.height);
  if (node.width) check_side("width", *node.width);
  if (!node.max_size) return;
  if (node.width) refuse("max_size", "is only for a size of one number");
  check_side("max_size", *node.max_size);
  if (*node.max_size <= node.height) refuse("max_size", "must be larger than the size of the shorter side");
}
void check_parameters(const transforms::CenterCrop& node) { check_size("size", node.size); }
void check_parameters(const transforms::RandomCrop& node) {
  check_size("size", node.size);
  if (node.padding) check_padding(*node.padding);
}
void check_parameters(const transforms::RandomResizedCrop& node) {
  check_size("size", node.size);
  check_positive("scale", node.scale);
  check_positive("ratio", node.ratio);
  if (node.interpolation.empty()) refuse("interpolation", "is empty");
}
void check_parameters(const transforms::Pad& node) { check_padding(node.padding); }
void check_parameters(const transforms::PadIfSmaller& node) { check_size("size", node.size); }
void check_parameters(const transforms::FixedSizeCrop& node) { check_size("size", node.size); }
void check_parameters(const transforms::PadTo& node) { check_size("size", node.size); }
void check_parameters(const transforms::RandomAffine& node) {
  if (node.translate) {
    for (const double share : *node.translate) {
      if (!(0 <= share && share <= 1)) refuse("translate", fmt::format("{} is not within [0, 1]", share));
    }
  }
  if (node.scale) check_positive("scale", *node.scale);
}
void check_parameters(const transforms::RandomPerspective& node) {
  if (!(0 <= node.distortion_scale && node.distortion_scale <= 1)) {
    refuse("distortion_scale", fmt::format("{} is not within [0, 1]", node.distortion_scale));
  }
}
void check_parameters(const transforms::ScaleJitter& node) {
  check_size("target_size", node.target_size);
  check_positive("scale_range", node.scale_range);
}
void check_parameters(const transforms::RandomResize& node) {
  check_side("min_size", node.min_size);
  check_side("max_size", node.max_size);
  if (node.min_size >= node.max_size) refuse("max_size", "must be larger than min_size: it is never drawn itself");
}
void check_parameters(const transforms::RandomShortestSize& node) {
  if (node.min_size.empty()) refuse("min_size", "is empty");
  for (const std::uint32_t side : node.min_size) check_side("min_size", side);
  if (node.max_size) check_side("max_size", *node.max_size);
}
void check_parameters(const transforms::RandomZoomOut& node) { check_within("side_range", node.side_range, 1, 64); }
void check_parameters(const transforms::RandomIoUCrop& node) {
  check_within("min_scale", {node.min_scale, node.max_scale}, 0, 1);
  check_within("min_aspect_ratio", {node.min_aspect_ratio, node.max_aspect_ratio}, 0, k_max_factor);
  if (node.sampler_options.empty()) refuse("sampler_options", "is empty");
  for (const double option : node.sampler_options) {
    if (!(option >= 0 && option <= k_max_factor)) refuse("sampler_options", fmt::format("{} is below 0", option));
  }
  if (node.trials < 1 || node.trials > 10'000)
    refuse("trials", fmt::format("{} is not within [1, 10000]", node.trials));
}
void check_parameters(const transforms::SanitizeBoundingBoxes& node) {
  const auto check = [](std::string_view parameter, double least) {
    if (!(least >= 1 && least <= k_max_factor)) refuse(parameter, fmt::format("{} is below 1", least));
  };
  check("min_size", node.min_size);
  check("min_area", node.min_area);
}
void check_parameters(const transforms::ColorJitter& node) {
  check_factor("brightness", node.brightness);
  check_factor("contrast", node.contrast);
  check_factor("saturation", node.saturation);
  check_hue(node.hue);
}
void check_parameters(const transforms::Grayscale& node) {
  if (node.num_output_channels != 1 && node.num_output_channels != 3) {
    refuse("num_output_channels", fmt::format("{} is neither 1 nor 3", node.num_output_channels));
  }
}
void check_parameters(const transforms::RandomPhotometricDistort& node) {
  check_factor("brightness", node.brightness);
  check_factor("contrast", node.contrast);
  check_factor("saturation", node.saturation);
  check_hue(node.hue);
}
void check_parameters(const transforms::RandomPosterize& node) {
  if (node.bits > 8) refuse("bits", fmt::format("{} is not within [0, 8]", node.bits));
}
void check_parameters(const transforms::RandomAdjustSharpness& node) {
  check_factor("sharpness_factor", {node.sharpness_factor, node.sharpness_factor});
}
void check_parameters(const transforms::GaussianBlur& node) {
  for (const std::uint32_t side : node.kernel_size) {
    if (side % 2 == 0 || side > k_max_kernel) {
      refuse("kernel_size", fmt::format("{} is not an odd number up to {}", side, k_max_kernel));
    }
  }
  check_positive("sigma", node.sigma);
}
void check_parameters(const transforms::PillowGaussianBlur& node) { check_within("radius", node.radius, 0, 1000); }
void check_parameters(const transforms::RandomChoice& node) {
  if (node.transforms.empty()) refuse("transforms", "is empty");
  if (node.p.empty()) return;
  if (node.p.size() != node.transforms.size()) refuse("p", "has another length than transforms");
  double total = 0;
  for (const double weight : node.p) {
    if (!(weight >= 0)) refuse("p", fmt::format("{} is not a weight", weight));
    total += weight;
  }
  if (!(total > 0 && total <= k_max_factor)) refuse("p", "has no positive sum");
}
void check_parameters(const transforms::Normalize& node) {
  if (node.mean.size() != node.std.size()) refuse("std", "has another length than mean");
  for (std::size_t channel = 0; channel < node.mean.size(); ++channel) {
    if (!std::isfinite(node.mean[channel])) refuse("mean", "must be finite");
    if (!std::isfinite(node.std[channel]) || !(node.std[channel] > 0)) refuse("std", "must be finite and above 0");
  }
}
void check_parameters(const transforms::ToDtype& node) {
  if (node.dtype != DType::uint8 && !node.scale) refuse("scale", "must be True for a float dtype");
}
void check_parameters(const transforms::RandomErasing& node) {
  check_positive("scale", node.scale);
  if (node.scale.high > 1) refuse("scale", "must not exceed 1");
  check_positive("ratio", node.ratio);
  if (node.min_count < 1 || node.min_count > node.max_count || node.max_count > 100) {
    refuse("max_count", fmt::format("[{}, {}] is not a range within [1, 100]", node.min_count, node.max_count));
  }
}

/// The order of a list: pixels are changed, then converted, then erased.
class Order {
 public:
  template <typename Node>
  void next(const Node& node, bool nested) {
    using std::is_same_v;
    if constexpr (is_same_v<Node, transforms::ToDtype>) {
      if (nested) refuse("this", "must not be inside another transform");
      if (normalized_ || is_float_) refuse("this", "comes after the pixels were converted already");
      is_float_ = node.dtype != DType::uint8;
      converted_ = true;
    } else if constexpr (is_same_v<Node, transforms::Normalize>) {
      if (nested) refuse("this", "must not be inside another transform");
      if (normalized_) refuse("this", "may appear only once");
      if (!is_float_) refuse("this", "needs float pixels: put ToDtype(\"float32\", scale=True) before it");
      normalized_ = true;
    } else if constexpr (is_same_v<Node, transforms::RandomErasing>) {
      if (!is_float_ && node.with != step::Erase::With::value) {
        refuse("value", "of random numbers needs float pixels: put ToDtype before RandomErasing");
      }
      if (converted_ && nested) refuse("this", "must not be inside another transform after ToDtype");
      if (padded_) refuse("this", "comes after PadTo, whose zeros are those of the batch");
      erased_ = converted_;
    } else if constexpr (is_same_v<Node, transforms::ClampBoundingBoxes> ||
                         is_same_v<Node, transforms::SanitizeBoundingBoxes>) {  // of no pixels: anywhere
    } else {
      if constexpr (is_same_v<Node, transforms::PadTo>) {
        if (nested) refuse("this", "must not be inside another transform");
      }
      if constexpr (is_same_v<Node, transforms::RandomIoUCrop>) {
        if (crops_by_boxes_) refuse("this", "may appear only once: the crop of one is recorded");
        crops_by_boxes_ = true;
      }
      if constexpr (is_same_v<Node, transforms::Grayscale>) {
        if (nested && node.num_output_channels == 1) {
          refuse("num_output_channels",
                 "of 1 must not be inside another transform, because some images would keep three: use 3, or mode L");
        }
      }
      if (is_float_) refuse("this", "changes 8-bit pixels: put it before ToDtype and Normalize");
      if (erased_) refuse("this", "comes after RandomErasing of converted pixels");
      if (padded_) refuse("this", "comes after PadTo, whose zeros are those of the batch");
      padded_ = is_same_v<Node, transforms::PadTo>;
    }
  }

 private:
  bool converted_ = false;
  bool is_float_ = false;
  bool normalized_ = false;
  bool erased_ = false;
  bool padded_ = false;
  bool crops_by_boxes_ = false;
};

void check_nodes(const TransformList& list, Order& order, const std::string& place, bool nested) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::visit(
        [&](const auto& node) {
          const std::string here = fmt::format("{}[{}].{}", place, i, name_of(&node));
          try {
            order.next(node, nested);
            check_probability(node);
            check_parameters(node);
          } catch (const Error& error) {
            throw Error(error.code(), fmt::format("{}: {}", here, error.message()), error.context());
          }
          if (const TransformList* children = children_of(list[i])) {
            check_nodes(*children, order, here, nested || !std::is_same_v<decltype(node), const transforms::Compose&>);
          }
        },
        as_variant(list[i]));
  }
}

/// Whether `wanted` is true of a transform of a list, also inside others.
template <typename Wanted>
bool any_node(const TransformList& list, const Wanted& wanted) {
  return std::ranges::any_of(list, [&](const TransformNode& node) {
    const TransformList* const children = children_of(node);
    return wanted(node) || (children != nullptr && any_node(*children, wanted));
  });
}

template <typename Wanted>
bool has_any(const TransformList& list) {
  return any_node(list, [](const TransformNode& node) { return std::holds_alternative<Wanted>(node); });
}

}  // namespace

void check_list(const TransformList& list) {
  Order order;
  check_nodes(list, order, "transforms", false);
}

bool erases_converted(const TransformList& list) {
  bool converted = false;
  for (const TransformNode& node : list) {
    if (std::holds_alternative<transforms::RandomErasing>(node) && converted) return true;
    converted |= std::holds_alternative<transforms::ToDtype>(node);
  }
  return false;
}

bool crops_by_boxes(const TransformList& list) { return has_any<transforms::RandomIoUCrop>(list); }

bool needs_boxes(const TransformList& list) {
  return crops_by_boxes(list) || has_any<transforms::SanitizeBoundingBoxes>(list);
}

bool mixes_geometries(const TransformList& list) {
  return any_node(list, [](const TransformNode& node) {
    const auto* const timm = std::get_if<transforms::TimmAutoAugment>(&node);
    return std::holds_alternative<transforms::AugMix>(node) || (timm != nullptr && timm->config.starts_with("augmix"));
  });
}

bool pads(const TransformList& list) { return has_any<transforms::PadTo>(list); }

bool mirrors(const TransformList& list) {
  return any_node(list, [](const TransformNode& node) {
    const auto* const flip = std::get_if<transforms::RandomHorizontalFlip>(&node);
    return flip != nullptr && flip->p > 0;
  });
}

namespace {

using Known = std::optional<Size>;

Known after_list(const TransformList& list, Known size);

// What follows says, for each transform, the size after it. Most keep the size.
template <typename Node>
Known after(const Node&, const Known& size) {
  return size;
}
Known after(const transforms::Resize& node, const Known&) {
  return node.width ? Known{{.height = node.height, .width = *node.width}} : std::nullopt;
}
Known after(const transforms::CenterCrop& node, const Known&) { return node.size; }
Known after(const transforms::RandomCrop& node, const Known&) { return node.size; }
Known after(const transforms::FixedSizeCrop& node, const Known&) { return node.size; }
Known after(const transforms::PadTo& node, const Known&) { return node.size; }
Known after(const transforms::RandomResizedCrop& node, const Known&) { return node.size; }
Known after(const transforms::Pad& node, const Known& size) {
  if (!size) return std::nullopt;
  return Size{.height = size->height + node.padding[1] + node.padding[3],
              .width = size->width + node.padding[0] + node.padding[2]};
}
Known after(const transforms::PadIfSmaller& node, const Known& size) {
  if (!size) return std::nullopt;
  return Size{.height = std::max(size->height, node.size.height), .width = std::max(size->width, node.size.width)};
}
Known after(const transforms::RandomRotation& node, const Known& size) { return node.expand ? std::nullopt : size; }
Known after(const transforms::RandomZoomOut& node, const Known& size) { return node.p > 0 ? std::nullopt : size; }
Known after(const transforms::RandomIoUCrop&, const Known&) { return std::nullopt; }
Known after(const transforms::ScaleJitter&, const Known&) { return std::nullopt; }
Known after(const transforms::RandomResize&, const Known&) { return std::nullopt; }
Known after(const transforms::RandomShortestSize&, const Known&) { return std::nullopt; }
Known after(const transforms::Compose& node, const Known& size) { return after_list(node.transforms, size); }
Known after(const transforms::RandomOrder& node, const Known& size) {
  for (const TransformNode& child : node.transforms) {
    if (after_list({child}, size) != size) return std::nullopt;
  }
  return size;
}
Known after(const transforms::RandomApply& node, const Known& size) {
  const Known applied = after_list(node.transforms, size);
  if (node.p >= 1) return applied;
  return applied == size ? size : std::nullopt;
}
Known after(const transforms::RandomChoice& node, const Known& size) {
  const Known first = after_list({node.transforms.front()}, size);
  const bool same = std::ranges::all_of(node.transforms,
                                        [&](const TransformNode& child) { return after_list({child}, size) == first; });
  return same ? first : std::nullopt;
}

Known after_list(const TransformList& list, Known size) {
  for (const TransformNode& node : list) {
    size = std::visit([&size](const auto& transform) { return after(transform, size); }, as_variant(node));
  }
  return size;
}

}  // namespace

std::optional<Size> output_size(const TransformList& list) { return after_list(list, std::nullopt); }

}  // namespace bale::transform_detail
