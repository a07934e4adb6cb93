// What tests ask of the driver and tell it.
#include "bale/tests/support/fake_cuda/engine.hpp"
#include "bale/tests/support/fake_cuda/fake_cuda.hpp"

namespace bale::test::fake_cuda {

using cuda_detail::Result;
using cuda_detail::StreamHandle;

void reset(std::uint64_t seed) { Engine::get().reset(seed); }
void set_pace(Pace pace) { Engine::get().set_pace(pace); }

void set_num_devices(int count) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().num_devices = count;
}

void fail_once(const std::string& function, std::uint64_t after, int result) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().faults[function] = {after, static_cast<Result>(result)};
}

void refuse(const std::string& function, int result) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().refused[function] = static_cast<Result>(result);
}

void take_pageable() {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().takes_pageable = true;
}

void set_captured(void* stream, bool captured) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().streams.at(static_cast<StreamHandle>(stream))->captured = captured;
}

void break_device(int result) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().broken = static_cast<Result>(result);
}

void on_call(std::function<void(const char*)> callback) {
  const std::lock_guard lock(Engine::get().mutex);
  Engine::get().callback = std::move(callback);
}

std::uint64_t num_calls(const std::string& function) {
  const std::lock_guard lock(Engine::get().mutex);
  return Engine::get().calls[function];
}

std::vector<std::string> findings() {
  const std::lock_guard lock(Engine::get().mutex);
  return Engine::get().findings;
}

Live live() {
  Engine& engine = Engine::get();
  const std::lock_guard lock(engine.mutex);
  Live live{.contexts = engine.retained,
            .streams = static_cast<int>(engine.streams.size()) - 2,
            .events = static_cast<int>(engine.events.size()),
            .allocations = static_cast<int>(engine.allocations.size()),
            .pinned_allocations = static_cast<int>(engine.pinned_allocations.size()),
            .registrations = static_cast<int>(engine.registrations.size()),
            .modules = static_cast<int>(engine.modules.size())};
  for (const auto& [address, allocation] : engine.allocations) live.device_bytes += allocation.size;
  return live;
}

std::size_t num_current() { return thread_state().current.size(); }
int capture_mode() { return static_cast<int>(thread_state().mode); }

}  // namespace bale::test::fake_cuda
