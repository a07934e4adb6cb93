// A worker that fails on purpose when it comes to a given shard:
//   BALE_FAULT=segv|abort|exit|hang   how
//   BALE_FAULT_SHARD=N                at which shard
//   BALE_FAULT_ONCE=FILE              only while this file can be removed: the first one to come there
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "bale/loader/worker/worker_process.hpp"

namespace {

void fail() {
  const char* const name = std::getenv("BALE_FAULT");
  const std::string_view fault = name != nullptr ? name : "";
  if (fault == "segv") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would make an exit of it
    ::raise(SIGSEGV);
  }
  if (fault == "abort") ::raise(SIGABRT);
  if (fault == "exit") std::_Exit(9);
  if (fault == "hang") {
    for (;;) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const shard = std::getenv("BALE_FAULT_SHARD");
  const char* const once = std::getenv("BALE_FAULT_ONCE");
  return bale::loader_detail::run_worker_process(argc, argv, [&](std::uint32_t number) {
    if (shard == nullptr || number != static_cast<std::uint32_t>(std::atol(shard))) return;
    if (once == nullptr || ::unlink(once) == 0) fail();
  });
}
