// A child of fork() uses the client of HTTP requests whatever the threads of its parent were doing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/cache/shared/file_lock.hpp"
#include "bale/formats/storage/http/http_client.hpp"
#include "bale/formats/storage/ranges/hedge.hpp"
#include "bale/tests/support/catch.hpp"

// AddressSanitizer before GCC 15 does not release the locks of its own allocator in a child
// (https://github.com/llvm/llvm-project/pull/75290), and each call here allocates.
#if !defined(__SANITIZE_ADDRESS__) || __GNUC__ >= 15

namespace bale {
namespace {

/// What takes a lock of the process, or is made by its first use.
void use_what_is_shared() {
  Hedge::of_host("http://127.0.0.1:1/");
  HttpClient::instance();
  read_limit(STDERR_FILENO);
  warn_of_cache("a test");
  temporary_name();
  FileLock::hold_off_forks();
}

}  // namespace

TEST_CASE("a child of fork() does not wait for a lock of its parent's threads", "[fork]") {
  constexpr int k_num_threads = 3;
  constexpr int k_num_children = 60;
  constexpr unsigned k_limit_s = 60;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < k_num_threads; ++i) {
    threads.emplace_back([&stop] {
      while (!stop) {
        use_what_is_shared();
      }
    });
  }
  int num_failed = 0;
  for (int i = 0; i < k_num_children; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(k_limit_s);
      use_what_is_shared();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    num_failed += status != 0 ? 1 : 0;
    if (num_failed > 0) break;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(num_failed == 0);
}

}  // namespace bale

#endif
