// Converts the Loader's options for the order of an epoch.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale::python {

/// "none", "full", "block", which uses the first two numbers, or "node-local", which uses the last. Throws
/// `invalid_argument` for anything else.
Shuffle shuffle_of(nanobind::handle name, std::uint64_t block_samples, std::uint64_t window_blocks,
                   std::uint64_t ranks_per_node = 0);
/// "pad", "drop" or "uneven". Throws `invalid_argument` for anything else.
Tail tail_of(nanobind::handle name);

}  // namespace bale::python
