// The random sequences of the parameters that train_transform() draws.
#pragma once

#include <cstdint>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/augment_draw.hpp"

namespace bale::transform_detail {

/// Each parameter has its own random sequence, so that turning one on or off does not change the others. The values
/// must not change: they are part of what a seed means.
enum class Stream : std::uint64_t { crop = 1, flip, order, brightness, contrast, saturation, hue, gray };

inline KeyedRandom stream_of(const DrawKey& key, Stream stream) {
  if (key.view == 0) return {key.seed, key.epoch, key.sample, key.copy, static_cast<std::uint64_t>(stream)};
  return {key.seed, key.epoch, key.sample, key.copy, static_cast<std::uint64_t>(stream), key.view};
}

}  // namespace bale::transform_detail
