#include "bale/reader/order/use_clock.hpp"

#include <algorithm>

namespace bale {

/// Deliveries per NextUse::k_epoch. An epoch of a mixture may be much shorter than a pass over its sources, in which as
/// many deliveries as there are samples count as one.
std::uint64_t UseClock::span() const {
  const Mixture* const mixture = order_.selection().mixture();
  return mixture == nullptr ? order_.size() : std::max(order_.size(), mixture->size());
}

/// Of a delivery, counted across epochs.
std::uint64_t UseClock::time_of(std::uint64_t number) const {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(number) * NextUse::k_epoch / span());
}

std::uint64_t UseClock::time(std::uint64_t epoch, std::uint64_t position) const {
  return time_of(counted_epoch(epoch) * order_.size() + position);
}

std::optional<NextUse> UseClock::next_use(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position) const {
  const std::uint64_t size = order_.size();
  const std::uint64_t begin = counted_epoch(epoch) * size;
  const std::uint64_t now = begin + position;
  std::optional<std::uint64_t> next;
  if (const Mixture* const mixture = order_.selection().mixture()) {
    // A cache compares times that are less than 4 epochs apart.
    next = std::min(mixture->next_delivery(sample, epoch, position, order_.seed()), now + 3 * span());
  } else {
    const std::uint64_t times = order_.selection().times();
    for (const std::uint64_t delivery : order_.selection().deliveries_of(sample)) {
      for (std::uint64_t item = delivery * times; item < (delivery + 1) * times; ++item) {
        std::uint64_t at = begin + order_.position_of(epoch, item);
        if (at <= now) at = begin + size + order_.position_of(epoch + 1, item);
        next = next ? std::min(*next, at) : at;
      }
    }
  }
  if (!next) return std::nullopt;
  return NextUse{.order = id_, .now = time_of(now), .time = *next < end_ ? time_of(*next) : NextUse::k_never};
}

}  // namespace bale
