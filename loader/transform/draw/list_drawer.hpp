// Drawing a list of transforms into steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

/// The transforms of a list by what their draws depend on.
struct ListNumbers {
  struct Numbered {
    std::uint64_t name = 0;
    std::uint64_t occurrence = 0;  // how many of this name come before it
    bool converted = false;        // behind ToDtype or Normalize
    std::vector<Numbered> children{};
  };
  std::vector<Numbered> nodes{};
};
std::shared_ptr<const ListNumbers> numbers_of(const TransformList& list);

/// Appends the steps for an image of width x height pixels to `steps`. Throws `unsupported` for an image that a
/// transform cannot take.
void draw_list(const CheckedList& list, PassOrder pass_order, const DrawKey& key, std::uint32_t width,
               std::uint32_t height, Steps& steps, const BoxesOfImage& boxes = {});

/// The steps that were drawn for an image before. `iou_crop` is that of its AppliedTransform.
Steps draw_again(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 const Region& iou_crop);

}  // namespace bale::transform_detail
