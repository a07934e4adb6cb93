// StepDrawer: draws the steps of any transform.
#pragma once

#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

class StepDrawer {
 public:
  /// Precondition: check_transform(transform) passes.
  explicit StepDrawer(const Transform& transform);

  /// Appends the steps for an image of width x height pixels; none for padded, ragged and raw. Throws `unsupported` for
  /// an image that a transform of a list cannot take.
  void draw(const DrawKey& key, std::uint32_t width, std::uint32_t height, Steps& steps,
            const BoxesOfImage& boxes = {}) const;

 private:
  Transform transform_;
  ListDrawer drawer_;
};

/// The steps from a stored image to its pixels in a batch, for whatever follows the image: those that are drawn, or the
/// padding of Transform::Kind::padded. Throws as StepDrawer::draw().
Steps image_steps(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                  const BoxesOfImage& boxes = {});

}  // namespace bale::transform_detail
