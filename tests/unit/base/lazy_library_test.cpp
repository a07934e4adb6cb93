#include "bale/formats/base/system/lazy_library.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const bale::Error& error) {
    CHECK(error.code() == bale::ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a library that is missing is named each time with what installs it") {
  bale::LazyLibrary absent("libbale-absent.so.7", "libbale-absent7");
  bale::LazyLibrary unknown("libbale-absent.so.7", "");
  const bale::LazyFunction<int()> function(absent, "some_function");
  const std::string what =
      "cannot load a library: libbale-absent.so.7: cannot open shared object file: No such file or directory; ";
  for (int i = 0; i < 2; ++i) CHECK(message_of([&] { function(); }) == what + "apt-get install libbale-absent7");
  CHECK(message_of([&] { unknown.find_variable("some_variable"); }) == what + "install libbale-absent.so.7");
}

TEST_CASE("a library without the symbol is named") {
  bale::LazyLibrary math("libm.so.6", "libc6");
  const bale::LazyFunction<double(double)> function(math, "bale_absent");
  const std::string what = message_of([&] { function(1); });
  CHECK(what.find("libm.so.6: undefined symbol: bale_absent") != std::string::npos);
  CHECK(message_of([&] { math.find_variable("bale_absent"); }).find("bale_absent") != std::string::npos);
}

TEST_CASE("threads and children of fork() may be the first to call a function") {
  static constinit bale::LazyLibrary math("libm.so.6", "libc6");
  static constinit const bale::LazyFunction<double(double)> root(math, "sqrt");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(root(9.0) == 3.0 ? 0 : 1);
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (double& result : results) threads.emplace_back([&result] { result = root(4.0); });
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<double>(4, 2.0));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
