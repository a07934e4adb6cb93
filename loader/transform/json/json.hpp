// Lists of transforms as JSON, as parse_transforms() reads it, and steps, the form in which draws are recorded:
// [{"name": "Crop", "left": 3, "top": 0, "width": 20, ...}, ...].
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {

/// The JSON that parse_transforms() reads, with all members.
std::string transforms_json(const TransformList& list);

}  // namespace bale

namespace bale::transform_detail {

/// All members of every step. Numbers are written so that reading gives the same bits.
std::string steps_json(const Steps& steps);

/// Members that are not there keep their default. Throws `invalid_argument` for text that is not JSON, for steps and
/// members that do not exist, for values of another type or out of its range, and for mixtures inside mixtures.
Steps parse_steps(std::string_view text);

}  // namespace bale::transform_detail
