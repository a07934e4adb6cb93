// What each transform draws. Every function appends steps to `drawing`.
//
// Source: torchvision.transforms.v2; the same parameters in the same distributions.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

// NodeRandom: the random sequences of one transform of a list. They depend on the transform's type and on how many of
// that type come before it, so that adding, removing or moving others does not change what it draws.

/// A number for the name of a transform: FNV-1a.
constexpr std::uint64_t name_number(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  return hash;
}

/// Parameters with a random sequence each, so that turning one on or off does not change the others. The values must
/// not change: they are part of what a seed means.
enum class Stream : std::uint64_t { crop = 1, flip, order, brightness, contrast, saturation, hue, gray };

class NodeRandom {
 public:
  /// `occurrence`: how many transforms of the same name come before it in the list, depth first.
  NodeRandom(const DrawKey& key, std::uint64_t name, std::uint64_t occurrence)
      : key_(key), name_(name), occurrence_(occurrence) {}

  /// The sequence number `part` of this transform.
  KeyedRandom part(std::uint64_t part) const {
    return {key_.seed, key_.epoch, key_.sample, key_.copy, name_, occurrence_, part, key_.view};
  }
  /// The sequence of a parameter. That of the first transform of its name is numbered without the name.
  KeyedRandom stream(Stream stream) const {
    const auto number = static_cast<std::uint64_t>(stream);
    if (occurrence_ > 0) return part(number);
    if (key_.view == 0) return {key_.seed, key_.epoch, key_.sample, key_.copy, number};
    return {key_.seed, key_.epoch, key_.sample, key_.copy, number, key_.view};
  }

 private:
  DrawKey key_;
  std::uint64_t name_;
  std::uint64_t occurrence_;
};

// draw_geometry.cpp. RandomCrop throws `unsupported` if the image is smaller than the crop, PadTo if it is larger.
void draw_node(const transforms::Resize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::CenterCrop& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomCrop& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomResizedCrop& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::Pad& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::PadIfSmaller& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::FixedSizeCrop& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::PadTo& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomHorizontalFlip& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomVerticalFlip& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::ScaleJitter& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomResize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomShortestSize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomZoomOut& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomIoUCrop& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::ClampBoundingBoxes& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::SanitizeBoundingBoxes& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomRotation& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomAffine& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomPerspective& node, const NodeRandom& random, Drawing& drawing);

// draw_color.cpp
void draw_node(const transforms::ColorJitter& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::Grayscale& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomGrayscale& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomPhotometricDistort& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomSolarize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomPosterize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomEqualize& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomAutocontrast& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomInvert& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomAdjustSharpness& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::RandomChannelPermutation& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::GaussianBlur& node, const NodeRandom& random, Drawing& drawing);
void draw_node(const transforms::PillowGaussianBlur& node, const NodeRandom& random, Drawing& drawing);
/// `converted`: whether the pixels are those of the batch, behind ToDtype or Normalize.
void draw_erasing(const transforms::RandomErasing& node, bool converted, const NodeRandom& random, Drawing& drawing);

}  // namespace bale::transform_detail
