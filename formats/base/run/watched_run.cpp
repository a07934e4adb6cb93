#include "bale/formats/base/watched_run.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"

namespace bale {
namespace {

constexpr std::chrono::milliseconds k_interval{100};

/// Owned by both threads.
struct WatchedRun {
  Progress progress{};
  std::mutex mutex{};
  std::condition_variable wake{};
  bool has_ended = false;
  std::exception_ptr failure{};

  void run(std::function<void(Progress&)> work) {
    try {
      const RemoteWaitPoll end_when_stopped([this] { progress.throw_if_stopped(); });
      work(progress);
    } catch (...) {
      failure = std::current_exception();
    }
    work = nullptr;  // what it owns is gone when the caller continues
    const std::lock_guard lock(mutex);
    has_ended = true;
    wake.notify_one();
  }
  bool wait_for_end(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return wake.wait_for(lock, time, [this] { return has_ended; });
  }
};

}  // namespace

ProgressCounts counts_of(const Progress& progress) {
  return {.samples = progress.samples,
          .total_samples = progress.total_samples,
          .bytes = progress.bytes,
          .total_bytes = progress.total_bytes,
          .shards = progress.shards,
          .total_shards = progress.total_shards,
          .skipped = progress.skipped};
}

void watch_run(std::function<void(Progress&)> work, const OnProgress& on_progress, Patience patience) {
  const auto run = std::make_shared<WatchedRun>();
  std::thread thread;
  {
    const UnboundThread unbound;
    thread = start_thread([run, work = std::move(work)]() mutable { run->run(std::move(work)); });
  }
  bool is_cancelled = false;
  std::exception_ptr thrown;  // by on_progress
  std::chrono::steady_clock::time_point deadline{};
  const auto leave = [&] {
    thread.detach();
    if (thrown) std::rethrow_exception(thrown);
    throw Error(ErrorCode::interrupted, "interrupted");
  };
  while (!run->wait_for_end(k_interval)) {
    if (is_cancelled && !patience) continue;
    if (is_cancelled && std::chrono::steady_clock::now() >= deadline) leave();
    bool goes_on = false;
    try {
      goes_on = !on_progress || on_progress(counts_of(run->progress));
    } catch (...) {
      if (is_cancelled) leave();
      thrown = std::current_exception();
    }
    if (goes_on || is_cancelled) continue;
    is_cancelled = true;
    run->progress.stop = true;
    if (patience) deadline = std::chrono::steady_clock::now() + *patience;
  }
  thread.join();
  if (thrown) std::rethrow_exception(thrown);
  if (run->failure) std::rethrow_exception(run->failure);
  if (on_progress) on_progress(counts_of(run->progress));
}

}  // namespace bale
