// OrderTable: how far the readers are that follow an order, and so how long it is until content is used again. A file
// that all processes of the node map.
//
// A use is stored in 31 bits: the number of its order in this table, and its time modulo 8 epochs. All of this is
// advice: a number that in the meantime stands for another order, or a use of an epoch that is long over, costs hits
// and nothing else.
//
// Times are made comparable between orders by the pace of each: a reader that takes the hour for an epoch needs what is
// half an epoch away in half an hour. An order that stands still is at least as far away as it has stood, so what a job
// leaves behind when it ends grows old like everything else.
//
// Threads and processes: all functions may be called by any number of them at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {

/// The cache's unit of time, for any process and after a restart. Wraps around after 8 years.
using Tick = std::uint32_t;
constexpr std::uint32_t k_ticks_per_second = 16;

class OrderTable {
 public:
  static constexpr unsigned k_bits = 31;  // of a stored use
  static constexpr std::uint32_t k_unknown = 0;

  /// Opens the table in the file `path`, which is made if there is none. Throws `io`.
  explicit OrderTable(const std::string& path);
  OrderTable(const OrderTable&) = delete;
  OrderTable& operator=(const OrderTable&) = delete;

  /// Notes how far the order is. Returns the use as it is stored.
  std::uint32_t note(const NextUse& use, Tick now);
  /// Ticks until a stored use, infinite if there is none; nullopt if it is unknown or has passed.
  std::optional<float> ticks_until(std::uint32_t use, Tick now) const;

 private:
  static constexpr unsigned k_time_bits = 24;
  static constexpr std::uint32_t k_never = ((std::uint32_t{1} << (k_bits - k_time_bits)) - 1) << k_time_bits;
  static constexpr std::uint32_t k_num_orders = (k_never >> k_time_bits) - 1;

  struct Order;
  Order& find(const NextUse& use, Tick now);

  FileMapping mapping_;
  Order* orders_;  // mapped
};

}  // namespace bale
