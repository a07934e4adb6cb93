// Runs independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace bale {

/// Cores that this process may use (its affinity mask and its control groups' CPU quota), at least 1.
unsigned usable_cores();

/// Calls `work(i)` for every i in [0, count) on up to `jobs` threads (0: one per core), lowest first: on fewer if the
/// system starts no more, at least on the caller's. After an
/// exception no further piece is begun; the first exception is rethrown here once all threads are done.
/// `stop_others`, if given, is called once, after the first exception was kept: it may end the pieces that are under
/// way, and what they throw then is never taken for the failure. It must not throw.
void run_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                  const std::function<void()>& stop_others = {});

}  // namespace bale
