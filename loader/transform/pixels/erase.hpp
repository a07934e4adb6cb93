// Erasing of pixels that were converted to the type and layout of a batch.
#pragma once

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

/// Overwrites the step's rectangle in an image of `transform`'s size, type and layout at `out`. Normal numbers come
/// from KeyedRandom{noise_seed}: per channel, or in the order channel, row, column.
void erase_converted(const step::Erase& erase, const Transform& transform, MutableBytes out);

}  // namespace bale::transform_detail
