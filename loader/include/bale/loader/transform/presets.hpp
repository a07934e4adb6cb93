// Lists of transforms that references train detectors with. bale.transforms.presets (Python) has the same, and more.
//
// Source: DetectionPresetTrain in torchvision's references/detection/presets.py. The models of torchvision resize the
// images of a batch and normalize them; batches here have one size, so each list ends with that resize. All need a
// field of the kind boxes. Threads: pure functions.
#pragma once

#include <cstdint>

#include "bale/loader/transform/transforms.hpp"

namespace bale::presets {

/// data_augmentation="ssd", for ssd300_vgg16: colors, zoom out, crops by boxes, flips.
TransformList ssd_train(std::uint32_t size = 300, DType dtype = DType::float32);

/// data_augmentation="ssdlite", for ssdlite320_mobilenet_v3_large: crops by boxes, flips.
TransformList ssdlite_train(std::uint32_t size = 320, DType dtype = DType::float32);

/// data_augmentation="hflip", for Faster R-CNN: the shorter side becomes `min_size`, the longer at most `max_size`, and
/// the image is padded at the right and the bottom to max_size x max_size.
TransformList detection_train(std::uint32_t min_size = 800, std::uint32_t max_size = 1333,
                              DType dtype = DType::float32);

/// data_augmentation="lsj", large scale jittering, for Mask R-CNN and its like: the image, 0.1 to 2 times the size that
/// fits into size x size, is cropped or padded to size x size.
TransformList lsj_train(std::uint32_t size = 1024, DType dtype = DType::float32);

}  // namespace bale::presets
