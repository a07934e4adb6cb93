// UseClock: when a reader that follows an order uses a sample again. What a cache has to know to keep what is needed
// soonest.
//
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bale/formats/base/storage.hpp"
#include "bale/reader/order/epoch_order.hpp"

namespace bale {

class UseClock {
 public:
  /// `id` identifies order and dataset: all readers with one id share a clock (EpochOrder::fingerprint()). `end`:
  /// number of deliveries, counted across epochs, after which nothing is used; by default the epochs never end.
  UseClock(EpochOrder order, std::uint64_t id, std::uint64_t end = ~std::uint64_t{0})
      : order_(std::move(order)), id_(id), end_(end) {}

  /// Whether next uses are known: not if the selection draws with replacement.
  bool knows() const { return !order_.selection().draws() || order_.selection().mixture() != nullptr; }
  /// The first delivery of a sample after a position of an epoch, on whatever rank; a mixture's may be
  /// given as earlier if it is far away. nullopt if the order never delivers it. Preconditions: knows(), position <
  /// size of the order.
  std::optional<NextUse> next_use(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position) const;
  /// The time of a delivery: see NextUse.
  std::uint64_t time(std::uint64_t epoch, std::uint64_t position) const;
  std::uint64_t id() const { return id_; }

 private:
  std::uint64_t span() const;
  std::uint64_t time_of(std::uint64_t number) const;

  EpochOrder order_;
  std::uint64_t id_;
  std::uint64_t end_;
};

}  // namespace bale
