// Reading a dataset in the order of its epochs, with several threads and with reading ahead.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/reader/dataset.hpp"
#include "bale/reader/order/epoch_order.hpp"

namespace bale {

struct ReadInOrderOptions {
  unsigned jobs = 0;             // threads; 0: one per core, or 16 with DatasetOptions::direct_io
  bool large_transfers = false;  // see ReadAheadOptions
};

/// Reads deliveries [begin, end) of an endless sequence of epochs: number n is position n % order.size() of epoch n /
/// order.size(). Calls `on_sample` for each, from many threads at once, roughly in order. The view lives until
/// `on_sample` returns. The first exception of a read or of `on_sample` stops all threads and is thrown here.
/// Precondition: order.size() > 0, unless begin == end.
void read_in_order(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                   const ReadInOrderOptions& options, const std::function<void(const SampleView&)>& on_sample);

/// Reads all samples once in stored order, likewise. Samples of the first shards come before the last shards are
/// counted (DatasetOptions::counting).
void read_as_counted(const Dataset& dataset, const ReadInOrderOptions& options,
                     const std::function<void(const SampleView&)>& on_sample);

}  // namespace bale
