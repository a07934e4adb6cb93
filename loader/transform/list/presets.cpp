#include "bale/loader/transform/presets.hpp"

namespace bale::presets {

using namespace transforms;

TransformList ssd_train(std::uint32_t size, DType dtype) {
  return {RandomPhotometricDistort{},
          RandomZoomOut{.fill = {123, 117, 104}},
          RandomIoUCrop{},
          RandomHorizontalFlip{},
          SanitizeBoundingBoxes{},
          Resize{.height = size, .width = size},
          ToDtype{.dtype = dtype}};
}

TransformList ssdlite_train(std::uint32_t size, DType dtype) {
  return {RandomIoUCrop{}, RandomHorizontalFlip{}, SanitizeBoundingBoxes{}, Resize{.height = size, .width = size},
          ToDtype{.dtype = dtype}};
}

TransformList detection_train(std::uint32_t min_size, std::uint32_t max_size, DType dtype) {
  const Size padded{.height = max_size, .width = max_size};
  return {RandomHorizontalFlip{},       SanitizeBoundingBoxes{},    Resize{.height = min_size, .max_size = max_size},
          PadIfSmaller{.size = padded}, CenterCrop{.size = padded}, ToDtype{.dtype = dtype}};
}

TransformList lsj_train(std::uint32_t size, DType dtype) {
  const Size square{.height = size, .width = size};
  return {ScaleJitter{.target_size = square}, FixedSizeCrop{.size = square, .fill = {123, 117, 104}},
          RandomHorizontalFlip{}, SanitizeBoundingBoxes{}, ToDtype{.dtype = dtype}};
}

}  // namespace bale::presets
