#include "bale/tests/support/fake_cuda/engine.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstring>

#include "bale/formats/base/checksum.hpp"

namespace bale::test::fake_cuda {
namespace {

// A device address is the address of the host memory behind it with this bit set. No processor accepts it.
constexpr DevicePointer k_device_bit = DevicePointer{1} << 62;
constexpr std::uintptr_t k_page_bytes = 4096;
constexpr int k_patient_asking = 5;
constexpr auto k_patience = std::chrono::seconds(60);

bool contains(const std::byte* begin, std::size_t size, const void* at, std::size_t needed) {
  const auto* const from = static_cast<const std::byte*>(at);
  return from >= begin && from + needed <= begin + size;
}

bool is_free(const std::string& function) {
  for (const char* const part : {"Destroy", "Free", "Unregister", "Unload", "Release", "Pop", "GetError"}) {
    if (function.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::uint64_t sum_of(const void* memory, std::size_t size) {
  return crc32c({static_cast<const std::byte*>(memory), size});
}

ThreadState& thread_state() {
  static thread_local ThreadState state;
  return state;
}

Engine& Engine::get() {
  static Engine* const engine = [] {  // never destroyed: bale may call the driver while the process exits
    auto* const made = new Engine;
    made->reset(1);
    return made;
  }();
  return *engine;
}

void Engine::stop_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    stopping_ = true;
  }
  changed.notify_all();
  thread_.join();
  stopping_ = false;
}

void Engine::reset(std::uint64_t new_seed) {
  stop_thread();
  const std::lock_guard lock(mutex);
  seed = new_seed;
  random = KeyedRandom{seed};
  pace = Pace::when_asked;
  num_devices = 1;
  host = {};
  retained = 0;
  streams.clear();
  for (const std::uintptr_t number : {1, 2}) {
    auto stream = std::make_unique<FakeStream>();
    stream->number = static_cast<int>(number);
    streams.emplace(reinterpret_cast<cuda_detail::StreamHandle>(number), std::move(stream));
  }
  events.clear();
  allocations.clear();
  freed_in_use.clear();
  for (const auto& [memory, size] : pinned_allocations) ::munmap(memory, size);
  pinned_allocations.clear();
  registrations.clear();
  modules.clear();
  functions.clear();
  findings.clear();
  calls.clear();
  faults.clear();
  refused.clear();
  takes_pageable = false;
  broken.reset();
  callback = {};
}

void Engine::set_pace(Pace new_pace) {
  stop_thread();
  pace = new_pace;
  if (pace == Pace::thread) thread_ = std::thread([this] { run_thread(); });
}

Result Engine::enter(const char* function, bool needs_context) {
  std::function<void(const char*)> told;
  {
    const std::lock_guard lock(mutex);
    told = callback;
  }
  if (told) told(function);
  const std::lock_guard lock(mutex);
  ++calls[function];
  if (needs_context && thread_state().current.empty()) note(std::string(function) + ": no context is current");
  if (broken && !is_free(function)) return *broken;
  if (const auto found = refused.find(function); found != refused.end()) return found->second;
  const auto fault = faults.find(function);
  if (fault == faults.end()) return Result::success;
  if (fault->second.after > 0) {
    --fault->second.after;
    return Result::success;
  }
  const Result result = fault->second.result;
  faults.erase(fault);
  return result;
}

void Engine::find(const std::string& line) {
  const std::lock_guard lock(mutex);
  note(line);
}

void Engine::note(const std::string& line) {
  if (findings.size() < 100) findings.push_back(line);
}

FakeStream* Engine::stream(cuda_detail::StreamHandle handle, const char* function) {
  const auto found = streams.find(handle == nullptr ? reinterpret_cast<cuda_detail::StreamHandle>(1) : handle);
  if (found != streams.end()) return found->second.get();
  note(std::string(function) + ": this stream was destroyed, or never made");
  return nullptr;
}

std::shared_ptr<FakeEvent> Engine::event(cuda_detail::EventHandle handle, const char* function) {
  const auto found = events.find(handle);
  if (found != events.end()) return found->second;
  note(std::string(function) + ": this event was destroyed, or never made");
  return nullptr;
}

std::byte* Engine::host_address(DevicePointer at, std::size_t size) {
  const auto found = allocations.upper_bound(at);
  if (found == allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(found);
  if (at + size > begin + allocation.size) return nullptr;
  return reinterpret_cast<std::byte*>(at & ~k_device_bit);
}

Engine::Range Engine::rest_of_allocation(DevicePointer at, bool writes) const {
  const auto found = allocations.upper_bound(at);
  if (found == allocations.begin()) return {.at = at, .size = 0, .writes = writes};
  const auto& [begin, allocation] = *std::prev(found);
  const DevicePointer end = begin + allocation.size;
  return {.at = at, .size = at < end ? end - at : 0, .writes = writes};
}

bool Engine::is_pinned(const void* at, std::size_t size) const {
  for (const auto* const memories : {&pinned_allocations, &registrations}) {
    for (const auto& [begin, length] : *memories) {
      if (contains(begin, length, at, size)) return true;
    }
  }
  return false;
}

bool Engine::reads_host_memory(const void* at, std::size_t size) const {
  for (const auto& [handle, stream] : streams) {
    for (const auto& work : stream->work) {
      if (work->source != nullptr && contains(static_cast<const std::byte*>(at), size, work->source, 1)) return true;
    }
  }
  return false;
}

Result Engine::give(FakeStream& stream, std::shared_ptr<Work> work, const std::vector<Range>& uses) {
  stream.clock.join(host);
  const std::uint64_t number = ++stream.clock[stream.number];
  for (const Range& range : uses) {
    if (host_address(range.at, range.size) == nullptr) {
      note(work->what + ": goes beyond the device memory that was allocated");
      return static_cast<Result>(700);
    }
    Allocation& allocation = std::prev(allocations.upper_bound(range.at))->second;
    const std::string conflict = allocation.uses.add({.begin = range.at,
                                                      .end = range.at + range.size,
                                                      .writes = range.writes,
                                                      .stream = stream.number,
                                                      .number = number,
                                                      .what = work->what},
                                                     stream.clock);
    if (!conflict.empty()) note(conflict);
  }
  work->pause = static_cast<int>(random.below(4));
  stream.work.push_back(std::move(work));
  changed.notify_all();
  return Result::success;
}

void Engine::run_first(FakeStream& stream, std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Work> work = stream.work.front();
  bool sound = true;
  if (work->source != nullptr) {
    unsigned char ignored[1];
    auto* const page =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(work->source) / k_page_bytes * k_page_bytes);
    const bool mapped = ::mincore(page, 1, ignored) == 0;
    if (!mapped || !is_pinned(work->source, work->source_size)) {
      note(work->what + ": its memory was unmapped, freed or unregistered before it was done");
      sound = mapped;
    }
  }
  stream.running = true;
  lock.unlock();
  const bool changed_meanwhile =
      sound && work->source != nullptr && sum_of(work->source, work->source_size) != work->source_sum;
  if (sound && work->run) work->run();
  lock.lock();
  stream.running = false;
  if (changed_meanwhile) note(work->what + ": what it copies was changed before it was done");
  if (work->finish) work->finish();
  stream.work.pop_front();
  changed.notify_all();
}

bool Engine::advance(std::unique_lock<std::mutex>& lock) {
  std::vector<FakeStream*> able;
  for (const auto& [handle, stream] : streams) {
    if (stream->work.empty() || stream->running) continue;
    const Work& first = *stream->work.front();
    if (!first.ready || first.ready()) able.push_back(stream.get());
  }
  if (able.empty()) return false;
  FakeStream& chosen = *able[random.below(able.size())];
  if (chosen.work.front()->pause > 0) {
    --chosen.work.front()->pause;
  } else {
    run_first(chosen, lock);
  }
  return true;
}

void Engine::advance_some(FakeEvent& event, std::unique_lock<std::mutex>& lock) {
  if (pace == Pace::late && ++event.asked > k_patient_asking) {
    drain(lock, [&] { return event.done >= event.recorded; });
  }
  if (pace != Pace::when_asked) return;
  for (std::uint64_t bits = random.below(6); bits > 0; --bits) advance(lock);
}

bool Engine::drain(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + k_patience;
  while (!done()) {
    // Work that another thread of the host is running ends by itself.
    const bool others_move = pace == Pace::thread || is_running();
    const bool moved = others_move ? changed.wait_until(lock, deadline) == std::cv_status::no_timeout : advance(lock);
    if (!moved) {
      note("somebody waits for what can never be done");
      return false;
    }
  }
  return true;
}

bool Engine::is_running() const {
  return std::any_of(streams.begin(), streams.end(), [](const auto& stream) { return stream.second->running; });
}

bool Engine::idle() const {
  for (const auto& [handle, stream] : streams) {
    if (!stream->work.empty()) return false;
  }
  return true;
}

void Engine::run_thread() {
  std::unique_lock lock(mutex);
  while (!stopping_) {
    const auto pause = std::chrono::microseconds(random.below(4) == 0 ? random.below(300) : 0);
    if (!advance(lock)) {
      changed.wait_for(lock, std::chrono::milliseconds(5));
    } else if (pause.count() > 0) {
      lock.unlock();
      std::this_thread::sleep_for(pause);
      lock.lock();
    }
  }
}

}  // namespace bale::test::fake_cuda
