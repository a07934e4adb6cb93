// fork() waits for each ForkMutex, so a child finds it unlocked.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

ForkMutex first;
ForkMutex second;

}  // namespace

TEST_CASE("a child of fork() finds mutexes unlocked that threads of its parent held", "[fork]") {
  constexpr int k_num_children = 100;
  constexpr unsigned k_limit_s = 60;
  std::atomic<bool> stop{false};
  const auto hold = [&](ForkMutex& mutex) {
    while (!stop) {
      const std::lock_guard lock(mutex);
      ::usleep(100);  // held nearly always
    }
  };
  std::thread one([&] { hold(first); });
  std::thread other([&] { hold(second); });
  int num_failed = 0;
  for (int i = 0; i < k_num_children && num_failed == 0; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(k_limit_s);
      const std::lock_guard lock(first);
      const std::lock_guard other_lock(second);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    num_failed += status != 0 ? 1 : 0;
  }
  stop = true;
  one.join();
  other.join();
  CHECK(num_failed == 0);
}

}  // namespace bale
