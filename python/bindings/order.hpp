// The order of an epoch, as options of the Loader name it.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::python {

/// "none", "full" or "block"; the numbers matter to the last alone. Throws `invalid_argument` for anything else.
Shuffle shuffle_of(nanobind::handle name, std::uint64_t block_samples, std::uint64_t window_blocks);
/// "pad", "drop" or "uneven". Throws `invalid_argument` for anything else.
Tail tail_of(nanobind::handle name);

}  // namespace bale::python
