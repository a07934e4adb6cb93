#include "bale/formats/storage/cache/entries/order_table.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr Tick k_announcement_pause = 600 * k_ticks_per_second;  // after a longer one the pace is measured again

/// Another process may have noted a time that is later than the one that this process just took.
Tick elapsed(Tick from, Tick to) {
  const auto ticks = static_cast<std::int32_t>(to - from);
  return ticks > 0 ? static_cast<Tick>(ticks) : 0;
}

}  // namespace

/// Written by several processes without a lock: a mixture of two states is a wrong pace for a while.
struct OrderTable::Order {
  std::atomic<std::uint64_t> id;     // 0: free
  std::atomic<std::uint64_t> first;  // time of the order when its pace began to be measured
  std::atomic<std::uint64_t> now;
  std::atomic<Tick> first_tick;
  std::atomic<Tick> last_tick;  // when `now` was noted

  void start(std::uint64_t at, Tick tick) {
    first.store(at);
    first_tick.store(tick);
    now.store(at);
    last_tick.store(tick);
  }
};

OrderTable::OrderTable(const std::string& path)
    : mapping_(map_shared_file(path, k_num_orders * sizeof(Order))),
      orders_(reinterpret_cast<Order*>(mapping_.memory())) {}

/// The order's entry. A new one takes a free entry, or that of the order which stands still for the longest time.
OrderTable::Order& OrderTable::find(const NextUse& use, Tick now) {
  const std::uint64_t id = std::max<std::uint64_t>(use.order, 1);
  const auto end = orders_ + k_num_orders;
  const auto known = std::find_if(orders_, end, [&](const Order& order) { return order.id.load() == id; });
  if (known != end) return *known;
  const auto rest = [&](const Order& order) {
    return order.id.load() == 0 ? std::numeric_limits<Tick>::max() : elapsed(order.last_tick.load(), now);
  };
  const auto taken = std::max_element(orders_, end, [&](const Order& a, const Order& b) { return rest(a) < rest(b); });
  taken->id.store(id);
  taken->start(use.now, now);
  return *taken;
}

std::uint32_t OrderTable::note(const NextUse& use, Tick now) {
  Order& order = find(use, now);
  const bool is_back = use.now < order.first.load();  // another run of the same order
  if (is_back || elapsed(order.last_tick.load(), now) > k_announcement_pause) order.start(use.now, now);
  order.now.store(use.now);
  order.last_tick.store(now);
  if (use.time == NextUse::k_never) return k_never;
  const auto number = static_cast<std::uint32_t>(&order - orders_) + 1;
  return number << k_time_bits | static_cast<std::uint32_t>(use.time & ((1u << k_time_bits) - 1));
}

std::optional<float> OrderTable::ticks_until(std::uint32_t use, Tick now) const {
  const std::uint32_t number = use >> k_time_bits;
  if (number == 0) return std::nullopt;  // k_unknown, or a map that was damaged
  if (use >= k_never) return std::numeric_limits<float>::infinity();
  const Order& order = orders_[number - 1];
  const std::uint64_t at = order.now.load();
  // The difference of two times modulo 8 epochs, from -4 to 4 epochs.
  const std::uint32_t ahead = (use - static_cast<std::uint32_t>(at)) << (32 - k_time_bits);
  const std::int32_t distance = static_cast<std::int32_t>(ahead) >> (32 - k_time_bits);
  if (distance <= 0) return std::nullopt;
  const Tick last_tick = order.last_tick.load();
  const auto taken = static_cast<float>(std::max<Tick>(elapsed(order.first_tick.load(), last_tick), 1));
  const auto done = static_cast<float>(std::max<std::uint64_t>(at - order.first.load(), 1));
  return std::max(static_cast<float>(distance) * taken / done, static_cast<float>(elapsed(last_tick, now)));
}

}  // namespace bale
