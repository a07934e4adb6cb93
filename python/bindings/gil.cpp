#include "bale/python/bindings/gil.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>

namespace bale::python {
namespace {

// The thread that shuts down the interpreter; 0 before. Thread ids of Linux are not 0.
std::atomic<pid_t> ending_thread{0};

}  // namespace

void stop_other_threads() { ending_thread.store(::gettid()); }

bool is_to_stop() {
  const pid_t ending = ending_thread.load();
  return ending != 0 && ending != ::gettid();
}

void park() {
  for (;;) ::pause();
}

void WithoutGil::take_gil() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {  // pthread_exit
    park();
  }
}

}  // namespace bale::python
