// Reads the stored form of boxes and keypoints: JSON or a NumPy array (docs/FIELDS.md).
//
// Input may be hostile. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/targets/target.hpp"

namespace bale::transform_detail {

/// `stored` is Field::stored_format. Throws `damaged` if the bytes are neither JSON nor an array, and `unsupported` for
/// another layout and for numbers that are not finite.
Boxes read_boxes(Bytes bytes, std::optional<BoxFormat> stored);
/// The boxes that Field::without leaves, and the number of each in the stored field.
struct NumberedBoxes {
  Boxes boxes;
  std::vector<std::int64_t> numbers;
};
NumberedBoxes read_boxes(Bytes bytes, const Field& field);
KeyPoints read_keypoints(Bytes bytes);

}  // namespace bale::transform_detail
