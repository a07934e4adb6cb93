// A worker that fails on purpose at a given shard:
//   BALE_FAULT=segv|abort|exit|hang   kind of failure; or "signal N", which it then sends to itself
//   BALE_FAULT=tired                  the first request for a shard of tired:// fails
//   BALE_FAULT_SHARD=N                number of the shard
//   BALE_FAULT_ONCE=FILE              only while this file, or FILE.again, can be removed: in the first workers that
//   reach the shard
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bale/loader/worker/process/worker_process.hpp"
#include "bale/tests/support/tired_scheme.hpp"

namespace {

void fail() {
  const char* const name = std::getenv("BALE_FAULT");
  const std::string_view fault = name != nullptr ? name : "";
  if (fault == "segv") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit
    ::raise(SIGSEGV);
  }
  if (fault.starts_with("signal ")) ::raise(std::atoi(name + 7));
  if (fault == "abort") ::raise(SIGABRT);
  if (fault == "exit") std::_Exit(9);
  if (fault == "hang") {
    // Compilers may remove an endless loop without side effects, and Clang 19 does. Reading a volatile variable is one.
    for (volatile bool hangs = true; hangs;) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bale::test::add_tired_scheme();
  const char* const fault = std::getenv("BALE_FAULT");
  bale::test::tired_requests = fault != nullptr && std::string_view(fault) == "tired" ? 1 : 0;
  const char* const shard = std::getenv("BALE_FAULT_SHARD");
  const char* const once = std::getenv("BALE_FAULT_ONCE");
  return bale::loader_detail::run_worker_process(argc, argv, [&](std::uint32_t number) {
    if (shard == nullptr || number != static_cast<std::uint32_t>(std::atol(shard))) return;
    if (once == nullptr || ::unlink(once) == 0 || ::unlink((std::string(once) + ".again").c_str()) == 0) fail();
  });
}
