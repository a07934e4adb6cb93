// ReadAhead: a thread that asks the kernel to read the bytes of samples before they are needed.
//
// It follows the order of deliveries and stays at most window_bytes ahead of what was consumed. It requests deliveries
// in groups. The samples of a group are sorted by their place in the shards and merged into few, large requests. A
// window of a block shuffle is one group, so each block is one request.
//
// Of remote datasets, it also tells the cache when each sample is used next, and stays within a part of the cache.
//
// Ownership: the Dataset must outlive this object.
// Threads: methods may be called from any thread. Upcoming is called only by the object's own thread.
// Processes: not usable after fork().
// Errors: reading ahead is a hint and does not fail. A shard that cannot be opened is reported when it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bale/reader/dataset.hpp"
#include "bale/reader/order/use_clock.hpp"

namespace bale {

struct UpcomingSample {
  std::uint64_t sample = 0;               // position in the Dataset
  std::optional<std::uint64_t> window{};  // EpochOrder::window(): consecutive deliveries of one window are one group
  std::uint64_t epoch = 0;                // only used with ReadAheadOptions::clock
  std::uint64_t position = 0;             // likewise: of the epoch
};

struct ReadAheadOptions {
  std::uint64_t window_bytes = std::uint64_t{128} << 20;  // how far ahead to read; 0: not at all
  /// For disks that are limited in transfers per second, with a block shuffle: long requests are issued in transfers of
  /// 2 MiB and more, for which up to twice the requested bytes are read.
  bool large_transfers = false;
  std::uint64_t group_samples = 32;  // samples per group if the order has no windows
  std::optional<UseClock> clock{};   // of the order, for a remote dataset
  bool wants_seek_points = false;    // of remote shards: readers will ask for them
  std::uint64_t readers = 1;         // objects of this class that share the cache and this order, one per rank
  std::uint64_t in_flight = 0;       // of the consumed deliveries, this many may still be being read
  /// Whether this node needs a sample in an epoch: then the neighbors of a remote sample that are needed are fetched
  /// with it, if the cache has room. Empty: it is not known, or neighbors are read together in any case.
  std::function<bool(std::uint64_t sample, std::uint64_t epoch)> is_needed{};
  std::uint64_t begin = 0;          // deliveries before this were consumed
  std::uint64_t first_samples = 0;  // the first deliveries, which are requested without their neighbors
  /// The number for consumed(); nullopt if it cannot be known now. Of a remote dataset it is asked several times per
  /// second, by the object's thread. Must not throw or wait.
  std::function<std::optional<std::uint64_t>()> progress{};
};

class ReadAhead {
 public:
  /// Returns the n-th delivery, counted from 0 across all epochs. nullopt if it is not known yet: it is called again
  /// after more was consumed. Must not throw.
  using Upcoming = std::function<std::optional<UpcomingSample>(std::uint64_t n)>;

  /// Starts the thread.
  ReadAhead(const Dataset& dataset, Upcoming upcoming, const ReadAheadOptions& options = {});
  /// Stops the thread. Waits for the request that is being issued.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Says that every delivery before `n` was read or is about to be. A number lower than before has no effect.
  void consumed(std::uint64_t n);

  /// Waits until delivery `n` was requested, or will not be: to read it earlier would cost a request of its own.
  /// Returns at once if window_bytes is 0. For readers in this process.
  void wait_until_requested(std::uint64_t n);

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace bale
