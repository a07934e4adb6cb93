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

/// Whether a list overwrites pixels after they were converted to the batch's type.
bool erases_converted(const TransformList& list);

}  // namespace bale::transform_detail
