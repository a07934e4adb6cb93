// run_watched(): calls back while a long operation runs, to show its progress and to cancel it.
//
//     const bale::PackReport report = bale::run_watched(
//         [&](bale::Progress& progress) { return bale::pack(*source, options, progress); },
//         [&](const bale::ProgressCounts& counts) { draw(counts); return !is_to_stop; });
//
// Cancelling leaves what it would leave if Progress::stop were set: after pack(), finished shards stay, and
// DestinationMode::resume continues.
//
// Threads: the operation runs on a thread of its own. The callback is called by the thread that called run_watched(),
// so it may handle signals and take its time, and needs no locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "bale/formats/base/progress.hpp"

namespace bale {

/// The state of an operation. A total of 0 is unknown.
struct ProgressCounts {
  std::uint64_t samples = 0;
  std::uint64_t total_samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t shards = 0;
  std::uint64_t total_shards = 0;
  std::uint64_t skipped = 0;
};
ProgressCounts counts_of(const Progress& progress);

/// Called about ten times per second, and once more when the operation has succeeded. To cancel, return false or throw.
using OnProgress = std::function<bool(const ProgressCounts& counts)>;

/// How long a cancelled operation may take to end; nullopt: as long as it takes.
using Patience = std::optional<std::chrono::milliseconds>;

/// run_watched() of an operation without a result. An empty callback never cancels.
void watch_run(std::function<void(Progress&)> work, const OnProgress& on_progress, Patience patience = std::nullopt);

/// Calls `work`, a function of a Progress&, and returns what it returns. Throws what `on_progress` throws, else what
/// `work` throws: `interrupted` if it was cancelled before it was done, `out_of_memory` if no thread can be started.
///
/// A cancelled operation may be blocked in the kernel, as by a network file system that does not answer. After
/// `patience`, or when `on_progress` throws again, run_watched() leaves it to end by itself, and throws. `work` must
/// then own all that it uses. Without `patience` it waits for the end.
template <typename Work>
auto run_watched(Work work, const OnProgress& on_progress, Patience patience = std::nullopt) {
  using Result = decltype(work(std::declval<Progress&>()));
  const auto result = std::make_shared<std::optional<Result>>();
  watch_run([result, work = std::move(work)](Progress& progress) { result->emplace(work(progress)); }, on_progress,
            patience);
  return std::move(**result);
}

}  // namespace bale
