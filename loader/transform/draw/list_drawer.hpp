// ListDrawer: draws a list of transforms into steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::transform_detail {

class ListDrawer {
 public:
  /// Precondition: check_list(list->nodes) passes.
  ListDrawer(std::shared_ptr<const CheckedList> list, PassOrder pass_order);

  /// Appends the steps for an image of width x height pixels to `steps`. Throws `unsupported` for an image that a
  /// transform cannot take.
  void draw(const DrawKey& key, std::uint32_t width, std::uint32_t height, Steps& steps,
            const BoxesOfImage& boxes = {}) const;

 private:
  /// A transform, and how many of its name come before it.
  struct Numbered {
    std::uint64_t name = 0;
    std::uint64_t occurrence = 0;
    bool converted = false;  // behind ToDtype or Normalize
    std::vector<Numbered> children{};
  };
  class Run;

  std::shared_ptr<const CheckedList> list_;
  PassOrder pass_order_;
  std::vector<Numbered> numbered_;
};

/// The steps that were drawn for an image before. `iou_crop` is that of its AppliedTransform.
Steps draw_again(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 const Region& iou_crop);

}  // namespace bale::transform_detail
