#include "bale/formats/base/watched_run.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

using namespace bale;

namespace {

/// Counts until it is stopped.
int count_until_stopped(Progress& progress) {
  for (;;) {
    ++progress.samples;
    progress.throw_if_stopped();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("a watched run returns its result, and the callback gets its last counts in the thread of the caller") {
  const auto caller = std::this_thread::get_id();
  std::thread::id runner;
  ProgressCounts last;
  const std::string result = run_watched(
      [&](Progress& progress) {
        runner = std::this_thread::get_id();
        progress.samples = progress.total_samples = 7;
        return std::string("done");
      },
      [&](const ProgressCounts& counts) {
        CHECK(std::this_thread::get_id() == caller);
        last = counts;
        return true;
      });
  CHECK(result == "done");
  CHECK(runner != caller);
  CHECK((last.samples == 7 && last.total_samples == 7));
  CHECK(run_watched([](Progress&) { return 1; }, {}) == 1);
}

TEST_CASE("a callback that returns false cancels, and the run says how it ended") {
  const auto error = test::thrown_by(
      [] { run_watched(count_until_stopped, [](const ProgressCounts& counts) { return counts.samples == 0; }); });
  CHECK((error && error->code() == ErrorCode::interrupted));
  // One that is done all the same has a result.
  CHECK(run_watched(
            [](Progress& progress) {
              while (!progress.stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return 3;
            },
            [](const ProgressCounts&) { return false; }) == 3);
}

TEST_CASE("what a run throws and what a callback throws arrives") {
  CHECK_THROWS_WITH(run_watched([](Progress&) -> int { throw std::runtime_error("of the run"); }, {}), "of the run");
  CHECK_THROWS_WITH(run_watched(count_until_stopped,
                                [](const ProgressCounts&) -> bool { throw std::runtime_error("of the callback"); }),
                    "of the callback");
}

TEST_CASE("a run that does not stop is left when the patience ends") {
  const auto is_free = std::make_shared<std::atomic<bool>>(false);
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  const auto blocked = [is_free, has_ended](Progress&) {
    while (!*is_free) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    *has_ended = true;
    return 1;
  };
  const auto error = test::thrown_by([&] {
    run_watched(
        blocked, [](const ProgressCounts&) { return false; }, std::chrono::milliseconds(50));
  });
  CHECK((error && error->code() == ErrorCode::interrupted && !*has_ended));
  *is_free = true;
  while (!*has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
