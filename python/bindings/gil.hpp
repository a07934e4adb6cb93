// WithoutGil: a stretch of C++ without the GIL.
//
// A daemon thread may want the GIL back when the interpreter is ending. Python up to 3.13 ends such a thread by
// pthread_exit, which unwinds the stack, and std::terminate() is what C++ frames answer (nanobind's gil_scoped_release
// among them). Later versions of Python let it hang. So does WithoutGil, with all of them: what the thread holds stays
// as it is, and the process ends under it.
#pragma once

#include <nanobind/nanobind.h>

namespace bale::python {

/// The interpreter is ending: from now on other threads than the calling one stop when they look at is_to_stop().
void stop_other_threads();
/// Whether the calling thread is to stop.
bool is_to_stop();
/// Waits for the end of the process. Without the GIL.
[[noreturn]] void park();

class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { take_gil(); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  /// Calls `work` with the GIL.
  template <typename Work>
  void with_gil(const Work& work) {
    take_gil();
    const GiveBack give_back(*this);
    work();
  }

 private:
  struct GiveBack {
    explicit GiveBack(WithoutGil& without) : without_(without) {}
    ~GiveBack() { without_.state_ = PyEval_SaveThread(); }
    WithoutGil& without_;
  };
  void take_gil() noexcept;

  PyThreadState* state_;
};

}  // namespace bale::python
