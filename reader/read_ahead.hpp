// ReadAhead: a thread that asks the kernel for the bytes of samples before they are read.
//
// It walks the deliveries that are to come, in their order, and stays at most window_bytes ahead of what has been
// consumed. Deliveries are asked for in groups, each sorted by where its samples lie and merged into as few and as
// large requests as that allows: a window of a block shuffle is one group, so that a block is one request.
//
// It is a hint and never fails: a shard that cannot be opened is left to whoever reads it. The Dataset outlives the
// object. Threads: consumed() may be called from any; `upcoming` is called from the object's own thread alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bale/reader/dataset.hpp"

namespace bale {

struct UpcomingSample {
  std::uint64_t sample = 0;               // position in the Dataset
  std::optional<std::uint64_t> window{};  // EpochOrder::window: neighbours in the order that share one are one group
};

struct ReadAheadOptions {
  std::uint64_t window_bytes = std::uint64_t{128} << 20;  // of the page cache; 0: asks for nothing
  /// For disks that are limited in transfers a second, and a block shuffle: long requests go out in transfers of 2 MiB
  /// and more, for which up to twice as much is read as is asked for.
  bool large_transfers = false;
  std::uint64_t group_samples = 32;  // where the order has no windows
};

class ReadAhead {
 public:
  /// The n-th delivery, counted from 0 and across epochs; nullopt where nothing more is known yet: it is asked again
  /// once more has been consumed. Must not throw.
  using Upcoming = std::function<std::optional<UpcomingSample>(std::uint64_t n)>;

  /// Starts the thread.
  ReadAhead(const Dataset& dataset, Upcoming upcoming, const ReadAheadOptions& options = {});
  /// Stops it: returns once the request in hand is out.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Every delivery before `n` has been read, or is about to be. Lower numbers than before change nothing.
  void consumed(std::uint64_t n);

  /// Returns once delivery `n` has been asked for, or is not going to be: reading it before would only take a request
  /// of its own. Never waits where nothing is read ahead. For readers in this process; the last one to come also keeps
  /// the window moving.
  void wait_until_requested(std::uint64_t n);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace bale
