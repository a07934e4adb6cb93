// Lists of transforms as JSON: see parse_transforms().
#pragma once

#include <string>

#include "bale/loader/transform/transforms.hpp"

namespace bale {

/// The JSON that parse_transforms() reads, with all members.
std::string transforms_json(const TransformList& list);

}  // namespace bale
