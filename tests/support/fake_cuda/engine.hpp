// Engine: the state of the fake driver. See fake_cuda.hpp for what it checks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/loader/cuda/driver/driver.hpp"
#include "bale/loader/cuda/kernels/host_kernels.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/tests/support/fake_cuda/fake_cuda.hpp"
#include "bale/tests/support/fake_cuda/timeline.hpp"
#include "bale/tools/measure/step/spin_args.hpp"

namespace bale::test::fake_cuda {

using cuda_detail::DevicePointer;
using cuda_detail::Result;

/// An operation in a stream.
struct Work {
  std::string what{};
  std::function<bool()> ready{};  // empty: as soon as the work before it is done
  std::function<void()> run{};    // called without the lock
  std::function<void()> finish{};
  const void* source = nullptr;  // host memory that is read
  std::size_t source_size = 0;
  std::uint64_t source_sum = 0;  // when the work was queued
  int pause = 0;
};

struct FakeStream {
  int number = 0;
  Clock clock{};  // of all work that was queued
  std::deque<std::shared_ptr<Work>> work{};
  bool running = false;   // the first work is running
  bool captured = false;  // into a graph
};

struct FakeEvent {
  bool timing = false;
  int asked = 0;               // queries without success
  std::uint64_t recorded = 0;  // number of records
  std::uint64_t done = 0;      // number of the last record that was reached
  Clock clock{};               // of the last record
  double seconds = 0;          // time when it was reached
};

struct Allocation {
  std::size_t size = 0;
  std::unique_ptr<std::byte[]> memory{};
  UseLog uses{};
};

struct FakeModule {
  std::string ptx{};
};

struct FakeFunction {
  std::string name{};
  cuda_detail::HostKernel kernel{};
};

class Engine {
 public:
  static Engine& get();

  // Control.
  void reset(std::uint64_t seed);
  void set_pace(Pace pace);

  /// Called at the start of every driver function: counts the call, and fails it if a test requested that.
  Result enter(const char* function, bool needs_context);
  void find(const std::string& line);  // takes the lock

  // Call with the lock held.
  FakeStream* stream(cuda_detail::StreamHandle handle, const char* function);
  std::shared_ptr<FakeEvent> event(cuda_detail::EventHandle handle, const char* function);
  void note(const std::string& line);
  /// Queues work on a stream. `uses`: (address, size, writes).
  struct Range {
    DevicePointer at = 0;
    std::size_t size = 0;
    bool writes = false;
  };
  Result give(FakeStream& stream, std::shared_ptr<Work> work, const std::vector<Range>& uses);
  std::byte* host_address(DevicePointer at, std::size_t size);
  /// From `at` to the end of its allocation; empty if it is in none.
  Range rest_of_allocation(DevicePointer at, bool writes) const;
  bool is_pinned(const void* at, std::size_t size) const;
  bool reads_host_memory(const void* at, std::size_t size) const;
  /// Called when an event is queried. Runs some work.
  void advance_some(FakeEvent& event, std::unique_lock<std::mutex>& lock);
  /// Runs work until `done`. Returns false if that can never happen.
  bool drain(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  bool idle() const;
  /// Whether some thread is running work.
  bool is_running() const;

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t seed = 1;
  KeyedRandom random{1};
  Pace pace = Pace::when_asked;
  int num_devices = 1;
  Clock host;  // the work that the host knows to be done
  int retained = 0;
  std::map<cuda_detail::StreamHandle, std::unique_ptr<FakeStream>> streams;
  std::map<cuda_detail::EventHandle, std::shared_ptr<FakeEvent>> events;
  std::map<DevicePointer, Allocation> allocations;
  std::vector<Allocation> freed_in_use;
  std::map<std::byte*, std::size_t> pinned_allocations;
  std::map<std::byte*, std::size_t> registrations;
  std::map<cuda_detail::ModuleHandle, std::unique_ptr<FakeModule>> modules;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::vector<std::string> findings;
  std::map<std::string, std::uint64_t> calls;
  struct Fault {
    std::uint64_t after = 0;
    Result result = Result::success;
  };
  std::map<std::string, Fault> faults;
  std::map<std::string, Result> refused;  // functions that always fail
  bool takes_pageable = false;            // copies from memory that is not page-locked are not findings
  std::optional<Result> broken;
  std::function<void(const char*)> callback;

 private:
  /// Runs one step of the queued work. Returns false if none can run now.
  bool advance(std::unique_lock<std::mutex>& lock);
  void run_first(FakeStream& stream, std::unique_lock<std::mutex>& lock);
  void run_thread();
  void stop_thread();

  std::thread thread_;
  bool stopping_ = false;
};

/// Contexts that are current in this thread, and its capture mode.
struct ThreadState {
  std::vector<cuda_detail::ContextHandle> current;
  cuda_detail::CaptureMode mode = cuda_detail::CaptureMode::global;
};
ThreadState& thread_state();

std::uint64_t sum_of(const void* memory, std::size_t size);

}  // namespace bale::test::fake_cuda
