// WithoutGil: releases the GIL for a scope.
//
// A daemon thread may ask for the GIL while the interpreter shuts down. Python up to 3.13 then ends the thread with
// pthread_exit, which unwinds the stack; C++ frames (such as nanobind's gil_scoped_release) call std::terminate().
// Later versions of Python block the thread forever. WithoutGil does so with every version: the thread keeps what it
// holds until the process ends.
//
// While it waits for a server, the thread looks for signals, so that Ctrl-C ends a read of remote data.
#pragma once

#include <nanobind/nanobind.h>

#include "bale/formats/base/storage.hpp"

namespace bale::python {

/// Call it when the interpreter shuts down. From then on is_to_stop() is true in all threads except the calling one.
void stop_other_threads();
/// Whether the calling thread must stop.
bool is_to_stop();
/// Blocks until the process ends. Call it without the GIL.
[[noreturn]] void park();

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
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

  /// Throws what Python's signal handlers throw, such as KeyboardInterrupt.
  void check_signals() {
    with_gil([] {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    });
  }

 private:
  struct GiveBack {
    explicit GiveBack(WithoutGil& without) : without_(without) {}
    ~GiveBack() { without_.state_ = PyEval_SaveThread(); }
    WithoutGil& without_;
  };
  void take_gil() noexcept;

  PyThreadState* state_;
  const RemoteWaitPoll poll_{[this] { check_signals(); }};
};

}  // namespace bale::python
