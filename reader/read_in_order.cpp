#include "bale/reader/read_in_order.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "bale/formats/core/parallel.hpp"
#include "bale/reader/read_ahead.hpp"

namespace bale {

void read_in_order(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                   const ReadInOrderOptions& options, const std::function<void(const SampleView&)>& on_sample) {
  const std::uint64_t size = order.size();
  const bool direct = dataset.options().direct_io;
  const auto upcoming = [&](std::uint64_t n) -> std::optional<UpcomingSample> {
    n += begin;
    if (n >= end) return std::nullopt;
    return UpcomingSample{order.at(n / size, n % size).sample, order.window(n / size, n % size)};
  };
  ReadAheadOptions ahead_options{.large_transfers = options.large_transfers};
  if (direct) ahead_options.window_bytes = 0;
  ReadAhead ahead(dataset, upcoming, ahead_options);
  std::atomic<std::uint64_t> next{begin};
  constexpr unsigned k_direct_jobs = 16;  // as many reads at a time as keep a fast disk busy
  const unsigned usual_jobs = direct ? k_direct_jobs : std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs = options.jobs != 0 ? options.jobs : usual_jobs;
  run_parallel(jobs, jobs, [&](std::size_t) {
    Scratch scratch;
    try {
      for (std::uint64_t n = next++; n < end; n = next++) {
        ahead.consumed(n - begin);
        ahead.wait_until_requested(n - begin);
        on_sample(dataset.read(order.at(n / size, n % size).sample, scratch));
      }
    } catch (...) {
      next = end;
      throw;
    }
  });
}

}  // namespace bale
