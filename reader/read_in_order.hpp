// Reading one epoch after another in a given order, by several threads, with requests going out ahead of them.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/reader/dataset.hpp"
#include "bale/reader/order/epoch_order.hpp"

namespace bale {

struct ReadInOrderOptions {
  unsigned jobs = 0;             // threads; 0: one a core, and 16 where reads go around the page cache (DatasetOptions)
  bool large_transfers = false;  // see ReadAheadOptions
};

/// Deliveries [begin, end) of an endless sequence of epochs: number n is position n % order.size() of epoch n /
/// order.size(). Threads take one after another and call `on_sample` with what they read; it may be called by many
/// threads at once, the view lives until it returns, and what it throws ends the reading and is rethrown here.
void read_in_order(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                   const ReadInOrderOptions& options, const std::function<void(const SampleView&)>& on_sample);

}  // namespace bale
