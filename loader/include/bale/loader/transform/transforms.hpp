// Transforms as a list: names, parameters and defaults are those of torchvision.transforms.v2 unless a comment says so.
//
// A list is a value. It becomes Steps by drawing (draw_steps()): what is drawn depends on (seed, epoch, sample, copy)
// and on the image's size only; RandomIoUCrop's rectangle also on its boxes. Sizes are (height, width) where
// torchvision has them so; all are in pixels. Threads: plain values and pure functions; may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale {

namespace transform_detail {
struct ListNumbers;
}

struct TransformNode;
using TransformList = std::vector<TransformNode>;

/// Height and width.
struct Size {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

namespace transforms {

// --- geometry

/// Without `width`: the shorter side becomes `height`, and the longer at most `max_size` if it is given.
struct Resize {
  std::uint32_t height = 0;
  std::optional<std::uint32_t> width{};
  std::optional<std::uint32_t> max_size{};
  Filter interpolation = Filter::bilinear;
};
struct CenterCrop {
  Size size{};
};
struct RandomCrop {
  Size size{};
  std::optional<std::array<std::uint32_t, 4>> padding{};  // left, top, right, bottom
  bool pad_if_needed = false;
  Color fill{};
  PadMode padding_mode = PadMode::constant;
};
struct RandomResizedCrop {
  Size size{};
  Range scale{0.08, 1.0};
  Range ratio{3.0 / 4, 4.0 / 3};
  std::vector<Filter> interpolation{Filter::bilinear};  // more than one: drawn per image, as timm's "random"
};
struct Pad {
  std::array<std::uint32_t, 4> padding{};  // left, top, right, bottom
  Color fill{};
  PadMode padding_mode = PadMode::constant;
};
/// Not torchvision's: pads right and bottom up to `size`, as torchvision's segmentation reference does before
/// RandomCrop.
struct PadIfSmaller {
  Size size{};
  Color fill{};
};
/// Not in torchvision itself but in its reference for detection: sides longer than `size` are cropped, both at the same
/// random share of what they are too long, and shorter ones are padded at the right and the bottom.
struct FixedSizeCrop {
  Size size{};
  Color fill{};
};
/// Not torchvision's: the image at the top left of `size`, with zeros of the batch elsewhere: they are not normalized.
/// The last transform that changes pixels. A larger image is a bad sample.
struct PadTo {
  Size size{};
};
struct RandomHorizontalFlip {
  double p = 0.5;
};
struct RandomVerticalFlip {
  double p = 0.5;
};
struct RandomRotation {
  Range degrees{};
  Sampling interpolation = Sampling::nearest;
  bool expand = false;
  std::optional<std::array<double, 2>> center{};  // x, y
  Color fill{};
};
struct RandomAffine {
  Range degrees{};
  std::optional<std::array<double, 2>> translate{};  // shares of the width and of the height
  std::optional<Range> scale{};
  std::optional<Range> shear_x{};  // degrees
  std::optional<Range> shear_y{};
  Sampling interpolation = Sampling::nearest;
  Color fill{};
  std::optional<std::array<double, 2>> center{};
};
struct RandomPerspective {
  double distortion_scale = 0.5;
  double p = 0.5;
  Sampling interpolation = Sampling::bilinear;
  Color fill{};
};
struct ScaleJitter {
  Size target_size{};
  Range scale_range{0.1, 2.0};
  Filter interpolation = Filter::bilinear;
};
/// The shorter side becomes one of min_size .. max_size - 1.
struct RandomResize {
  std::uint32_t min_size = 0;
  std::uint32_t max_size = 0;
  Filter interpolation = Filter::bilinear;
};
struct RandomShortestSize {
  std::vector<std::uint32_t> min_size{};
  std::optional<std::uint32_t> max_size{};
  Filter interpolation = Filter::bilinear;
};
struct RandomZoomOut {
  Color fill{};
  Range side_range{1.0, 4.0};
  double p = 0.5;
};

// --- boxes

/// A crop that keeps boxes (SSD). Each round takes one of `sampler_options`: 1 or more leaves the image as it is; else
/// the first of `trials` rectangles that holds the center of a box, and overlaps one such box by this intersection over
/// union. Boxes whose centers are outside become 0, 0, 0, 0: put SanitizeBoundingBoxes behind it. An image is left as
/// it is after 1,000 rounds or 40,000 rectangles; torchvision loops forever.
struct RandomIoUCrop {
  double min_scale = 0.3;  // of the sides, as shares of the image's
  double max_scale = 1;
  double min_aspect_ratio = 0.5;  // width / height
  double max_aspect_ratio = 2;
  std::vector<double> sampler_options{0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  std::uint32_t trials = 40;
};
/// Clips boxes at the edges of the image.
struct ClampBoundingBoxes {};
/// Drops boxes, with their labels, that are smaller than this or reach over an edge.
struct SanitizeBoundingBoxes {
  double min_size = 1;  // of width and height, in pixels
  double min_area = 1;
};

// --- color

/// Factors and the order of the four steps are drawn uniformly. {1, 1}, or {0, 0} for the hue, turns a step off.
struct ColorJitter {
  Range brightness{1, 1};
  Range contrast{1, 1};
  Range saturation{1, 1};
  Range hue{0, 0};  // turns of the color circle, within [-0.5, 0.5]

  /// torchvision's ColorJitter(b, c, s, h): factors from [max(0, 1 - b), 1 + b], hue from [-h, h].
  static ColorJitter symmetric(double brightness, double contrast, double saturation, double hue);
};
/// With one output channel, all further images of the list are gray, and so is the batch.
struct Grayscale {
  std::uint32_t num_output_channels = 3;  // 1 or 3; torchvision's default is 1
};
struct RandomGrayscale {
  double p = 0.1;
};
struct RandomPhotometricDistort {
  Range brightness{0.875, 1.125};
  Range contrast{0.5, 1.5};
  Range saturation{0.5, 1.5};
  Range hue{-0.05, 0.05};
  double p = 0.5;
};
struct RandomSolarize {
  double threshold = 128;
  double p = 0.5;
};
struct RandomPosterize {
  std::uint32_t bits = 8;
  double p = 0.5;
};
struct RandomEqualize {
  double p = 0.5;
};
struct RandomAutocontrast {
  double p = 0.5;
};
struct RandomInvert {
  double p = 0.5;
};
struct RandomAdjustSharpness {
  double sharpness_factor = 1;
  double p = 0.5;
};
struct RandomChannelPermutation {};
struct GaussianBlur {
  std::array<std::uint32_t, 2> kernel_size{};  // height, width; odd
  Range sigma{0.1, 2.0};
};
/// Not torchvision's: Pillow's ImageFilter.GaussianBlur with a radius from `radius`, as in DINO, BYOL and MoCo v3.
struct PillowGaussianBlur {
  Range radius{0.1, 2.0};
};

// --- policies

struct AutoAugment {
  enum class Policy : std::uint8_t { imagenet, cifar10, svhn };
  Policy policy = Policy::imagenet;
  Sampling interpolation = Sampling::nearest;
  Color fill{};
};
struct RandAugment {
  std::uint32_t num_ops = 2;
  std::uint32_t magnitude = 9;
  std::uint32_t num_magnitude_bins = 31;
  Sampling interpolation = Sampling::nearest;
  Color fill{};
};
struct TrivialAugmentWide {
  std::uint32_t num_magnitude_bins = 31;
  Sampling interpolation = Sampling::nearest;
  Color fill{};
};
struct AugMix {
  std::uint32_t severity = 3;
  std::uint32_t mixture_width = 3;
  std::int32_t chain_depth = -1;
  double alpha = 1;
  bool all_ops = true;
  Sampling interpolation = Sampling::bilinear;
  Color fill{};
};
/// timm's auto_augment strings: "rand-m9-mstd0.5-inc1", "original", "v0", "originalr", "v0r", "3a", "augmix-m5-w4-d2".
/// `interpolation`: one, or several from which each operation draws, as timm's default (bilinear, bicubic).
struct TimmAutoAugment {
  std::string config{};
  std::uint32_t translate_const = 100;  // timm's create_transform: 0.45 of the image's shorter side
  std::vector<Sampling> interpolation{Sampling::bilinear, Sampling::bicubic};
  Color fill{128, 128, 128};
};

// --- control. The lists have no {}: Clang 14 would need a complete TransformNode for it.

struct RandomApply {
  std::vector<TransformNode> transforms;
  double p = 0.5;
};
struct RandomChoice {
  std::vector<TransformNode> transforms;  // of which one runs
  std::vector<double> p{};                // weights; empty: equal ones
};
struct RandomOrder {
  std::vector<TransformNode> transforms;
};
/// Runs its transforms in order: an alternative of RandomChoice that consists of several.
struct Compose {
  std::vector<TransformNode> transforms;
};

// --- the end of a list

/// The batch's element type. With `scale`, floats are value / 255; without it a float type is refused by
/// list_transform(), because Normalize's usual numbers are for scaled values.
struct ToDtype {
  DType dtype = DType::float32;
  bool scale = true;  // torchvision: False
};
struct Normalize {
  /// One per channel. torchvision has no defaults; these are ImageNet's.
  std::vector<float> mean{0.485F, 0.456F, 0.406F};
  std::vector<float> std{0.229F, 0.224F, 0.225F};
};
/// torchvision's, and with `timm` that of timm.data.random_erasing: other distributions, and 1 to max_count rectangles.
struct RandomErasing {
  double p = 0.5;
  Range scale{0.02, 0.33};
  Range ratio{0.3, 3.3};
  step::Erase::With with = step::Erase::With::value;
  std::array<float, 3> value{};
  bool timm = false;
  std::uint32_t min_count = 1;
  std::uint32_t max_count = 1;
};

}  // namespace transforms

namespace transform_detail {

/// The number of the alternative `Node` of a variant, or how many there are.
template <typename Node, typename... Nodes>
constexpr std::size_t alternative_of(const std::variant<Nodes...>*) {
  std::size_t number = 0;
  static_cast<void>(((std::is_same_v<Node, Nodes> || (++number, false)) || ...));
  return number;
}

}  // namespace transform_detail

struct TransformNode
    : std::variant<transforms::Resize, transforms::CenterCrop, transforms::RandomCrop, transforms::RandomResizedCrop,
                   transforms::Pad, transforms::PadIfSmaller, transforms::FixedSizeCrop, transforms::PadTo,
                   transforms::RandomHorizontalFlip, transforms::RandomVerticalFlip, transforms::RandomRotation,
                   transforms::RandomAffine, transforms::RandomPerspective, transforms::ScaleJitter,
                   transforms::RandomResize, transforms::RandomShortestSize, transforms::RandomZoomOut,
                   transforms::RandomIoUCrop, transforms::ClampBoundingBoxes, transforms::SanitizeBoundingBoxes,
                   transforms::ColorJitter, transforms::Grayscale, transforms::RandomGrayscale,
                   transforms::RandomPhotometricDistort, transforms::RandomSolarize, transforms::RandomPosterize,
                   transforms::RandomEqualize, transforms::RandomAutocontrast, transforms::RandomInvert,
                   transforms::RandomAdjustSharpness, transforms::RandomChannelPermutation, transforms::GaussianBlur,
                   transforms::PillowGaussianBlur, transforms::AutoAugment, transforms::RandAugment,
                   transforms::TrivialAugmentWide, transforms::AugMix, transforms::TimmAutoAugment,
                   transforms::RandomApply, transforms::RandomChoice, transforms::RandomOrder, transforms::Compose,
                   transforms::ToDtype, transforms::Normalize, transforms::RandomErasing> {
  TransformNode();
  template <typename Node>
  requires(transform_detail::alternative_of<Node>(static_cast<const variant*>(nullptr)) < std::variant_size_v<variant>)
      TransformNode(Node node)
      : TransformNode(transform_detail::alternative_of<Node>(static_cast<const variant*>(nullptr)), &node) {}

  // Compiled once: to compile this for all alternatives takes longer than most units.
  TransformNode(const TransformNode&);
  TransformNode(TransformNode&&) noexcept;
  TransformNode& operator=(const TransformNode&);
  TransformNode& operator=(TransformNode&&) noexcept;
  ~TransformNode();

 private:
  TransformNode(std::size_t alternative, void* node);
};

/// A list that list_transform() has checked, and its JSON, which workers read.
struct CheckedList {
  TransformList nodes;
  std::string json;
  std::shared_ptr<const transform_detail::ListNumbers> numbers;  // what the draws of its transforms depend on
};

/// The steps of an image of width x height pixels, the same as the workers run. `boxes` are those of the image, which
/// RandomIoUCrop draws by. Throws `unsupported` if the list cannot take an image of this size.
Steps draw_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes = {});

/// The steps of a list, which need not end with a fixed size. Throws also what list_transform() throws for its
/// parameters.
Steps draw_steps(const TransformList& list, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 std::span<const Box> boxes = {});

/// Reads a list from JSON: an array of objects, each {"name": "RandomResizedCrop", ...} with the members of the struct
/// of that name above; absent members have their defaults. Sizes are [height, width], ranges [low, high], colors
/// [red, green, blue], enumerators their names ("bilinear"). Throws `invalid_argument`, naming the member, for anything
/// else and for values that are out of range.
TransformList parse_transforms(std::string_view json);

}  // namespace bale
