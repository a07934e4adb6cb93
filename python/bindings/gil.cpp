#include "bale/python/bindings/gil.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace bale::python {
namespace {

// The thread that shuts down the interpreter; 0 before. Thread ids of Linux are not 0.
std::atomic<pid_t> ending_thread{0};

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }  // gettid() is new in glibc 2.30

}  // namespace

void stop_other_threads() { ending_thread.store(this_thread()); }

bool is_to_stop() {
  const pid_t ending = ending_thread.load();
  return ending != 0 && ending != this_thread();
}

void park() {
  for (;;) ::pause();
}

void WithoutGil::take_gil() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // pthread_exit unwinds the stack; a function of C throws nothing else
    park();
  }
}

}  // namespace bale::python
