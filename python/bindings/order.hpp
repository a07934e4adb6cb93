// Converts the Loader's options for the order of an epoch.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::python {

/// "none", "full" or "block"; only the last uses the numbers. Throws `invalid_argument` for anything else.
Shuffle shuffle_of(nanobind::handle name, std::uint64_t block_samples, std::uint64_t window_blocks);
/// "pad", "drop" or "uneven". Throws `invalid_argument` for anything else.
Tail tail_of(nanobind::handle name);

}  // namespace bale::python
