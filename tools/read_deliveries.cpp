#include "bale/tools/read_deliveries.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "bale/formats/core/parallel.hpp"
#include "bale/reader/read_ahead.hpp"

namespace bale::tools {

void read_deliveries(const Dataset& dataset, const EpochOrder& order, std::uint64_t begin, std::uint64_t end,
                     unsigned threads, const std::function<void(const SampleView&)>& on_sample) {
  const std::uint64_t size = order.size();
  ReadAhead ahead(dataset, [&](std::uint64_t n) -> std::optional<UpcomingSample> {
    n += begin;
    if (n >= end) return std::nullopt;
    return UpcomingSample{order.at(n / size, n % size).sample, order.window(n / size, n % size)};
  });
  std::atomic<std::uint64_t> next{begin};
  const unsigned jobs = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  run_parallel(jobs, jobs, [&](std::size_t) {
    Scratch scratch;
    try {
      for (std::uint64_t n = next++; n < end; n = next++) {
        ahead.consumed(n - begin);
        on_sample(dataset.read(order.at(n / size, n % size).sample, scratch));
      }
    } catch (...) {
      next = end;
      throw;
    }
  });
}

}  // namespace bale::tools
