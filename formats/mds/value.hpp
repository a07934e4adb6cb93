// Values that MDS stores without a file format of their own: numbers, arrays and raw images. bale delivers them as
// NumPy array files, gray images as PGM: a header made from the column and the front of the value, and then the value's
// own numbers.
//
// Pure functions; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/container/reading/delivery.hpp"
#include "bale/formats/mds/columns.hpp"

namespace bale::mds {

/// The longest front of a value that delivery_of() looks at.
inline constexpr std::size_t k_value_head_bytes = 2 + 63 * 8;

/// For a value of kind `number`, `array` or `pixels` that starts with `front`, its first k_value_head_bytes or all of
/// it. nullopt if the front is malformed, or of a kind of image that has no whole bytes per pixel.
std::optional<Delivery> delivery_of(const Column& column, Bytes front);

}  // namespace bale::mds
