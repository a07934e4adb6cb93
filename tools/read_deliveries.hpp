// Reading samples in an order, as fast as the storage gives them.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/reader/dataset.hpp"
#include "bale/reader/order/epoch_order.hpp"

namespace bale::tools {

/// Reads the deliveries [begin, end) of `order`, counted from the first one of epoch 0 on over all epochs. `threads`
/// (0: one a core) take one after another, requests go out ahead of them. `on_sample` is called by any of them and may
/// throw to stop: the first exception is rethrown here.
void read_deliveries(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                     unsigned threads, const std::function<void(const SampleView&)>& on_sample);

}  // namespace bale::tools
