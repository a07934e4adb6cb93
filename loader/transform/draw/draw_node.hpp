// What each transform draws. Every function appends steps to `drawing`.
//
// Source: torchvision.transforms.v2; the same parameters in the same distributions.
#pragma once

#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/random/node_random.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

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

// draw_warp.cpp
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

// draw_erasing.cpp. `converted`: whether the pixels are those of the batch, behind ToDtype or Normalize.
void draw_erasing(const transforms::RandomErasing& node, bool converted, const NodeRandom& random, Drawing& drawing);

}  // namespace bale::transform_detail
