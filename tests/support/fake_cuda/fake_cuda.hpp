// A fake CUDA driver in host memory: the library libcuda.so.1 of the tests.
//
// It has the driver functions that bale uses, with streams, events and kernels that run late. It reports errors that a
// real driver would not detect:
//   - the source of a copy changes before the copy is done (a slot that went back to the workers too early)
//   - two streams use the same device memory, one of them to write, and no event orders them
//   - copies from memory that is not page-locked, or outside of allocated memory
//   - memory freed, unmapped or unregistered, events and streams destroyed, and then used
//   - memory registered twice, or unmapped before it is unregistered
//   - calls without a current context, contexts that stay current
// Findings are lines of text; there are none if all is well. Programs link it, or have it first in LD_LIBRARY_PATH.
//
// Device addresses are not addresses of the host: dereferencing one crashes, as with a real device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bale::test::fake_cuda {

/// When the work that is queued on streams runs.
enum class Pace {
  when_asked,  // a random amount whenever an event is queried; the same in every run with one seed
  thread,      // in a thread of its own, after random pauses
  late,        // only when the host waits for it, or has queried an event several times
  never,       // only when the host waits for it
};

/// Clears all objects, findings and faults. Sets one device and the pace when_asked.
void reset(std::uint64_t seed = 1);
void set_pace(Pace pace);
void set_num_devices(int count);

/// Makes one call of `function` ("cuMemAlloc_v2") fail with `result`, after `after` successful ones.
void fail_once(const std::string& function, std::uint64_t after, int result);
/// Every call of `function` fails with `result` from now on.
void refuse(const std::string& function, int result);
/// Copies from memory that is not page-locked are no longer findings.
void take_pageable();
/// Marks a stream as being captured into a graph. Recording an event there is then a finding.
void set_captured(void* stream, bool captured);
/// From now on every call except those that free something fails with `result`.
void break_device(int result);
/// `callback` is called with each function's name before it does anything, in the caller's thread, without a lock.
void on_call(std::function<void(const char* function)> callback);

std::uint64_t num_calls(const std::string& function);
/// The errors that were found.
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
/// Objects that were created and not freed.
Live live();
/// Number of contexts that are current in this thread.
std::size_t num_current();
/// This thread's capture mode, as cuThreadExchangeStreamCaptureMode set it; 0 (global) at first.
int capture_mode();

}  // namespace bale::test::fake_cuda
