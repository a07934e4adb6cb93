// Checks of a list of transforms, and what its end says about a batch.
#pragma once

#include <optional>

#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

/// Throws `invalid_argument`, naming the transform's place and the parameter, for values that are out of range and for
/// transforms in an order that cannot be run.
void check_list(const TransformList& list);

/// The size of every image after the list; nullopt if it differs from image to image.
std::optional<Size> output_size(const TransformList& list);

/// Throws `invalid_argument`, naming the transform's place, if it cannot change images of that mode as torchvision
/// changes PIL images. `channels` are those of the batch.
void check_mode(const TransformList& list, PixelMode mode, std::uint32_t channels);

/// Whether the last Grayscale that every image takes leaves one channel.
bool ends_in_one_channel(const TransformList& list);

/// Whether a list has PadTo, and whether it mirrors some images.
bool pads(const TransformList& list);
bool mirrors(const TransformList& list);

/// Whether a list overwrites pixels after they were converted to the batch's type.
bool erases_converted(const TransformList& list);

/// Whether a list draws by the boxes of an image (RandomIoUCrop), and whether it has a transform that torchvision
/// refuses for samples without boxes (this and SanitizeBoundingBoxes).
bool crops_by_boxes(const TransformList& list);
bool needs_boxes(const TransformList& list);

/// Whether a list mixes images that were cropped, turned or moved differently (AugMix, torchvision's and timm's).
bool mixes_geometries(const TransformList& list);

}  // namespace bale::transform_detail
