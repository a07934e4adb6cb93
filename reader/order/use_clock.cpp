#include "bale/reader/order/use_clock.hpp"

#include <algorithm>

namespace bale {

std::uint64_t UseClock::time(std::uint64_t epoch, std::uint64_t position) const {
  const auto part = static_cast<unsigned __int128>(position) * NextUse::k_epoch / order_.size();
  return counted_epoch(epoch) * NextUse::k_epoch + static_cast<std::uint64_t>(part);
}

std::optional<NextUse> UseClock::next_use(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position) const {
  const std::uint64_t size = order_.size();
  const std::uint64_t times = order_.selection().times();
  const std::uint64_t begin = counted_epoch(epoch) * size;
  const std::uint64_t now = begin + position;
  std::optional<std::uint64_t> next;
  for (const std::uint64_t delivery : order_.selection().deliveries_of(sample)) {
    for (std::uint64_t item = delivery * times; item < (delivery + 1) * times; ++item) {
      std::uint64_t at = begin + order_.position_of(epoch, item);
      if (at <= now) at = begin + size + order_.position_of(epoch + 1, item);
      next = next ? std::min(*next, at) : at;
    }
  }
  if (!next) return std::nullopt;
  return NextUse{.order = id_,
                 .now = time(epoch, position),
                 .time = *next < end_ ? time(*next / size, *next % size) : NextUse::k_never};
}

}  // namespace bale
