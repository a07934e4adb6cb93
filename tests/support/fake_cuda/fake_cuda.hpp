// A CUDA driver made of ordinary memory: the library libcuda.so.1 of the tests.
//
// It has the functions of the driver that bale looks for, with streams, events and kernels that run late, and it checks
// what a real driver would silently let go wrong:
//   - what is copied changes between the asking and the copy's end (a slot that went back to the workers too early)
//   - two streams use the same device memory, one of them to write, and no event orders them
//   - copies from memory that is not page-locked, or outside of what was allocated
//   - memory freed, unmapped or unregistered, events and streams destroyed, and then used
//   - memory registered twice, or unmapped before it is unregistered
//   - calls without a current context, contexts that stay current
// What it finds is a list of lines, empty when all is well. Programs link it, or have it first in LD_LIBRARY_PATH.
//
// Device addresses are no addresses of the host: whoever dereferences one crashes, as with a real device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bale::test::fake_cuda {

/// How work that was given to streams comes to be done.
enum class Pace {
  when_asked,  // a random bit of it whenever an event is asked for: the same in every run of a seed
  thread,      // by a thread of its own, after random pauses
  late,        // not before somebody waits for it, or has asked for an event again and again
  never,       // not before somebody waits for it
};

/// Forgets everything: objects, findings, faults. One device, the pace when_asked.
void reset(std::uint64_t seed = 1);
void set_pace(Pace pace);
void set_num_devices(int count);

/// The call of `function` ("cuMemAlloc_v2") after `after` more successful ones fails with `result`, that one only.
void fail_once(const std::string& function, std::uint64_t after, int result);
/// From now on every call but those that free something fails with `result`.
void break_device(int result);
/// Called with each function's name before it does anything, in the caller's thread, under no lock.
void on_call(std::function<void(const char* function)> callback);

std::uint64_t num_calls(const std::string& function);
/// What was found wrong.
std::vector<std::string> findings();

struct Live {
  int contexts = 0;
  int streams = 0;
  int events = 0;
  int allocations = 0;
  int pinned_allocations = 0;
  int registrations = 0;
  int modules = 0;
  std::size_t device_bytes = 0;
  friend bool operator==(const Live&, const Live&) = default;
};
/// What was made and not freed.
Live live();
/// Contexts that are current in this thread.
std::size_t num_current();
/// This thread's, as cuThreadExchangeStreamCaptureMode left it; 0 (global) at first.
int capture_mode();

}  // namespace bale::test::fake_cuda
