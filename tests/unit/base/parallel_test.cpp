// Pieces of work on several threads, and which of their failures is the one that is reported.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

/// What run_parallel() throws.
std::string failure_of(std::size_t count, const std::function<void(std::size_t)>& work,
                       const std::function<void()>& stop_others) {
  try {
    run_parallel(count, 2, work, stop_others);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

}  // namespace

TEST_CASE("A piece that is stopped because another one failed does not hide the failure") {
  std::atomic<bool> begun{false};
  std::atomic<bool> stop{false};
  const auto work = [&](std::size_t i) {
    if (i == 0) {
      wait_for(begun);
      throw Error(ErrorCode::damaged, "damaged");
    }
    begun = true;
    wait_for(stop);
    throw Error(ErrorCode::interrupted, "interrupted");
  };
  const auto stop_others = [&] {
    stop = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other piece ends before this one does
  };
  CHECK(failure_of(2, work, stop_others) == "damaged");
}

TEST_CASE("The others are stopped once, after the first failure, and no further piece is begun") {
  std::atomic<int> stops{0};
  std::atomic<int> pieces{0};
  const auto work = [&](std::size_t) {
    ++pieces;
    throw Error(ErrorCode::damaged, "damaged");
  };
  CHECK(failure_of(100, work, [&] { ++stops; }) == "damaged");
  CHECK(stops == 1);
  CHECK(pieces <= 2);
  CHECK(failure_of(0, work, [&] { ++stops; }).empty());
  CHECK(stops == 1);
}
