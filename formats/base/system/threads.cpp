#include "bale/formats/base/system/threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"

namespace bale {

std::thread start_thread(std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_memory, "cannot start a thread",
                {.hint = "raise the limits of processes and memory that `ulimit -u` and `ulimit -v` show, or use fewer "
                         "workers or jobs",
                 .system_error = error.code().value()});
  }
}

void run_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                  const std::function<void()>& stop_others) {
  const unsigned wanted = jobs != 0 ? jobs : usable_cores();
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        next = count;
        if (failure) return;
        failure = std::current_exception();
        if (stop_others) stop_others();
        return;
      }
    }
  };
  const UnboundThread unbound;
  std::vector<std::thread> threads;
  const std::size_t extra = std::min<std::size_t>(wanted, count);
  while (threads.size() + 1 < extra && add_thread(threads, loop)) {
  }
  loop();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace bale
