#include "bale/reader/read_in_order.hpp"

#include <optional>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/reader/read_ahead.hpp"

namespace bale {

void read_in_order(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                   const ReadInOrderOptions& options, const std::function<void(const SampleView&)>& on_sample) {
  const std::uint64_t size = order.size();
  const bool direct = dataset.options().direct_io.value_or(false);
  const auto upcoming = [&](std::uint64_t n) -> std::optional<UpcomingSample> {
    n += begin;
    if (n >= end) return std::nullopt;
    return UpcomingSample{order.at(n / size, n % size).sample, order.window(n / size, n % size), n / size, n % size};
  };
  constexpr unsigned k_direct_jobs = 16;  // this many concurrent reads keep a fast disk busy
  const unsigned jobs = options.jobs == 0 && direct ? k_direct_jobs : options.jobs;
  const bool is_counted = dataset.num_counted_shards() == dataset.num_shards();
  const std::uint64_t place = dataset.num_shards() == 0 ? 0 : crc32c(as_bytes(dataset.shard_path(0)));
  ReadAheadOptions ahead_options{
      .large_transfers = options.large_transfers, .clock = {}, .in_flight = jobs == 0 ? usable_cores() : jobs};
  if (is_counted) ahead_options.clock = UseClock(order, order.fingerprint(dataset.size(), place), end);
  if (direct) ahead_options.window_bytes = 0;
  ReadAhead ahead(dataset, upcoming, ahead_options);
  run_parallel(end - begin, jobs, [&](std::size_t n) {
    static thread_local Scratch scratch;
    ahead.consumed(n);
    ahead.wait_until_requested(n);
    on_sample(dataset.read(order.at((begin + n) / size, (begin + n) % size).sample, scratch));
  });
}

void read_as_counted(const Dataset& dataset, const ReadInOrderOptions& options,
                     const std::function<void(const SampleView&)>& on_sample) {
  for (std::uint64_t begin = 0;;) {
    const std::uint64_t end = dataset.count_beyond(begin);
    if (end <= begin) return;
    read_in_order(dataset, EpochOrder(Selection::all(end), Shuffle::none(), 0), begin, end, options, on_sample);
    begin = end;
  }
}

}  // namespace bale
