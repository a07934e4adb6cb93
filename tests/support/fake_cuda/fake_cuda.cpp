// The driver's functions, implemented with the engine.
#include "bale/tests/support/fake_cuda/fake_cuda.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstring>

#include "bale/tests/support/fake_cuda/engine.hpp"
#include "bale/tests/support/fake_cuda/launches.hpp"

using namespace bale::test::fake_cuda;
using namespace bale::cuda_detail;

namespace {

constexpr DevicePointer k_device_bit = DevicePointer{1} << 62;
constexpr std::size_t k_alignment_bytes = 256;
constexpr std::size_t k_device_bytes = std::size_t{1} << 34;

constexpr auto k_invalid_image = static_cast<Result>(200);
constexpr auto k_invalid_handle = static_cast<Result>(400);
constexpr auto k_not_found = static_cast<Result>(500);
constexpr auto k_already_registered = static_cast<Result>(712);
constexpr auto k_not_registered = static_cast<Result>(713);
constexpr auto k_hang = static_cast<Result>(702);

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ContextHandle the_context() {
  static int context = 0;
  return reinterpret_cast<ContextHandle>(&context);
}

/// A handle for a new object.
template <typename Handle, typename Object>
Handle handle_of(const Object& object) {
  return reinterpret_cast<Handle>(const_cast<void*>(static_cast<const void*>(object.get())));
}

bool is_mapped(std::byte* memory, std::size_t size) {
  std::vector<unsigned char> resident((size + 4095) / 4096);
  return ::mincore(memory, size, resident.data()) == 0;
}

}  // namespace

// Every function begins with this.
#define BALE_ENTER(needs_context)                                                                            \
  Engine& engine = Engine::get();                                                                            \
  if (const Result failed = engine.enter(__func__, needs_context); failed != Result::success) return failed; \
  std::unique_lock lock(engine.mutex)
#define BALE_STREAM(handle)                                   \
  FakeStream* const stream = engine.stream(handle, __func__); \
  if (stream == nullptr) return k_invalid_handle
#define BALE_EVENT(handle)                           \
  const auto event = engine.event(handle, __func__); \
  if (event == nullptr) return k_invalid_handle

extern "C" {

// These are the loader's declarations of the functions, so that the two cannot differ.
#define BALE_DECLARE(name, arguments) [[gnu::visibility("default")]] Result name arguments;
BALE_CUDA_DRIVER_FUNCTIONS(BALE_DECLARE)
#undef BALE_DECLARE

Result cuInit(unsigned) {
  BALE_ENTER(false);
  return engine.num_devices > 0 ? Result::success : Result::no_device;
}

Result cuGetErrorName(Result result, const char** name) {
  *name = result == Result::out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == Result::no_device   ? "CUDA_ERROR_NO_DEVICE"
                                          : "CUDA_ERROR_OF_A_TEST";
  return Result::success;
}

Result cuGetErrorString(Result result, const char** text) {
  *text = result == Result::out_of_memory ? "out of memory"
          : result == Result::no_device   ? "no CUDA-capable device is detected"
                                          : "made up";
  return Result::success;
}

Result cuDeviceGetCount(int* count) {
  BALE_ENTER(false);
  *count = engine.num_devices;
  return Result::success;
}

Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  BALE_ENTER(false);
  *device = ordinal;
  return ordinal < engine.num_devices ? Result::success : Result::invalid_device;
}

Result cuDeviceGetName(char* name, int size, DeviceNumber) {
  BALE_ENTER(false);
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
  return Result::success;
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber) {
  BALE_ENTER(false);
  ++engine.retained;
  *context = the_context();
  return Result::success;
}

Result cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  BALE_ENTER(false);
  if (--engine.retained < 0) engine.note("a context is released more often than it was retained");
  return Result::success;
}

Result cuCtxPushCurrent_v2(ContextHandle context) {
  BALE_ENTER(false);
  if (engine.retained == 0) engine.note("a context is made current that was released");
  thread_state().current.push_back(context);
  return Result::success;
}

Result cuCtxPopCurrent_v2(ContextHandle* context) {
  BALE_ENTER(true);
  *context = thread_state().current.back();
  thread_state().current.pop_back();
  return Result::success;
}

Result cuCtxSynchronize() {
  BALE_ENTER(true);
  if (!engine.drain(lock, [&] { return engine.idle(); })) return k_hang;
  for (const auto& [handle, stream] : engine.streams) engine.host.join(stream->clock);
  return Result::success;
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  BALE_ENTER(true);
  std::swap(thread_state().mode, *mode);
  return Result::success;
}

Result cuMemHostRegister_v2(void* memory, std::size_t size, unsigned) {
  BALE_ENTER(true);
  auto* const begin = static_cast<std::byte*>(memory);
  if (size == 0 || !is_mapped(begin, size)) return k_invalid_value;
  for (const auto& [other, length] : engine.registrations) {
    if (begin < other + length && other < begin + size) {
      engine.note("memory is registered that is registered already");
      return k_already_registered;
    }
  }
  engine.registrations.emplace(begin, size);
  return Result::success;
}

Result cuMemHostUnregister(void* memory) {
  BALE_ENTER(true);
  const auto found = engine.registrations.find(static_cast<std::byte*>(memory));
  if (found == engine.registrations.end()) {
    engine.note("memory is unregistered that was not registered");
    return k_not_registered;
  }
  if (engine.reads_host_memory(found->first, found->second)) engine.note("memory is unregistered while it is copied");
  if (!is_mapped(found->first, found->second)) engine.note("memory was unmapped before it was unregistered");
  engine.registrations.erase(found);
  return Result::success;
}

Result cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  BALE_ENTER(true);
  *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*memory == MAP_FAILED) return Result::out_of_memory;
  engine.pinned_allocations.emplace(static_cast<std::byte*>(*memory), size);
  return Result::success;
}

Result cuMemFreeHost(void* memory) {
  BALE_ENTER(true);
  const auto found = engine.pinned_allocations.find(static_cast<std::byte*>(memory));
  if (found == engine.pinned_allocations.end()) {
    engine.note("page-locked memory is freed that was not allocated");
    return k_invalid_value;
  }
  if (engine.reads_host_memory(found->first, found->second))
    engine.note("page-locked memory is freed while it is copied");
  ::munmap(found->first, found->second);
  engine.pinned_allocations.erase(found);
  return Result::success;
}

Result cuMemAlloc_v2(DevicePointer* memory, std::size_t size) {
  BALE_ENTER(true);
  if (size == 0) return k_invalid_value;
  Allocation allocation{.size = size, .memory = std::make_unique<std::byte[]>(size + k_alignment_bytes)};
  std::memset(allocation.memory.get(), 0xA5, size + k_alignment_bytes);
  const auto begin = reinterpret_cast<DevicePointer>(allocation.memory.get());
  *memory = (begin + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes | k_device_bit;
  engine.allocations.emplace(*memory, std::move(allocation));
  return Result::success;
}

Result cuMemFree_v2(DevicePointer memory) {
  BALE_ENTER(true);
  const auto found = engine.allocations.find(memory);
  if (found == engine.allocations.end()) {
    engine.note("device memory is freed that was not allocated");
    return k_invalid_value;
  }
  if (!found->second.uses.all_before(engine.host)) {
    engine.note("device memory is freed while it may be in use");
    engine.freed_in_use.push_back(std::move(found->second));  // queued work still uses it
  }
  engine.allocations.erase(found);
  return Result::success;
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t size, StreamHandle handle) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  auto work = std::make_shared<Work>();
  work->what = "copy to the device";
  if (!engine.is_pinned(from, size)) {
    if (!engine.takes_pageable) {
      engine.note("a copy from memory that is not page-locked");
      return k_invalid_value;
    }
    // As the real driver: the bytes are staged before the call returns.
    const auto* const bytes = static_cast<const std::byte*>(from);
    work->run = [target = engine.host_address(to, size), staged = std::vector<std::byte>(bytes, bytes + size)] {
      std::memcpy(target, staged.data(), staged.size());
    };
    return engine.give(*stream, std::move(work), {{to, size, true}});
  }
  work->source = from;
  work->source_size = size;
  work->source_sum = sum_of(from, size);
  work->run = [target = engine.host_address(to, size), from, size] { std::memcpy(target, from, size); };
  return engine.give(*stream, std::move(work), {{to, size, true}});
}

Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t size, StreamHandle handle) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  auto work = std::make_shared<Work>();
  work->what = "copy from the device";
  work->run = [to, source = engine.host_address(from, size), size] { std::memcpy(to, source, size); };
  return engine.give(*stream, std::move(work), {{from, size, false}});
}

Result cuStreamCreate(StreamHandle* handle, unsigned flags) {
  BALE_ENTER(true);
  if (flags != k_stream_non_blocking) engine.note("a stream that waits for the default stream");
  auto stream = std::make_unique<FakeStream>();
  stream->number = static_cast<int>(engine.calls["cuStreamCreate"]) + 2;
  *handle = handle_of<StreamHandle>(stream);
  engine.streams.emplace(*handle, std::move(stream));
  return Result::success;
}

Result cuStreamDestroy_v2(StreamHandle handle) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  if (!stream->work.empty()) engine.note("a stream is destroyed while it has work to do");
  engine.streams.erase(handle);
  return Result::success;
}

Result cuStreamIsCapturing(StreamHandle handle, CaptureStatus* status) {
  BALE_ENTER(true);
  const auto found = engine.streams.find(handle == nullptr ? reinterpret_cast<StreamHandle>(1) : handle);
  if (found == engine.streams.end()) return k_invalid_handle;
  *status = found->second->captured ? CaptureStatus::active : CaptureStatus::none;
  return Result::success;
}

Result cuStreamSynchronize(StreamHandle handle) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  if (!engine.drain(lock, [&] { return stream->work.empty(); })) return k_hang;
  engine.host.join(stream->clock);
  return Result::success;
}

Result cuStreamWaitEvent(StreamHandle handle, EventHandle event_handle, unsigned) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  BALE_EVENT(event_handle);
  stream->clock.join(event->clock);
  auto work = std::make_shared<Work>();
  work->what = "waiting";
  work->ready = [event, recorded = event->recorded] { return event->done >= recorded; };
  return engine.give(*stream, std::move(work), {});
}

Result cuEventCreate(EventHandle* handle, unsigned flags) {
  BALE_ENTER(true);
  auto event = std::make_shared<FakeEvent>();
  event->timing = flags != k_event_disable_timing;
  *handle = handle_of<EventHandle>(event);
  engine.events.emplace(*handle, std::move(event));
  return Result::success;
}

Result cuEventDestroy_v2(EventHandle handle) {
  BALE_ENTER(true);
  BALE_EVENT(handle);
  engine.events.erase(handle);
  return Result::success;
}

Result cuEventRecord(EventHandle event_handle, StreamHandle handle) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  BALE_EVENT(event_handle);
  if (stream->captured) engine.note("an event is recorded into a graph");
  auto work = std::make_shared<Work>();
  work->what = "event";
  work->finish = [event, recorded = ++event->recorded] {
    event->done = recorded;
    event->seconds = now_seconds();
  };
  const Result given = engine.give(*stream, std::move(work), {});
  event->clock = stream->clock;
  return given;
}

Result cuEventQuery(EventHandle handle) {
  BALE_ENTER(true);
  BALE_EVENT(handle);
  engine.advance_some(*event, lock);
  if (event->done < event->recorded) return Result::not_ready;
  engine.host.join(event->clock);
  return Result::success;
}

Result cuEventSynchronize(EventHandle handle) {
  BALE_ENTER(true);
  BALE_EVENT(handle);
  if (!engine.drain(lock, [&] { return event->done >= event->recorded; })) return k_hang;
  engine.host.join(event->clock);
  return Result::success;
}

Result cuEventElapsedTime(float* milliseconds, EventHandle begin_handle, EventHandle end_handle) {
  BALE_ENTER(true);
  const auto begin = engine.event(begin_handle, __func__);
  const auto end = engine.event(end_handle, __func__);
  if (begin == nullptr || end == nullptr || !begin->timing || !end->timing) return k_invalid_handle;
  if (begin->done < begin->recorded || end->done < end->recorded) return Result::not_ready;
  *milliseconds = static_cast<float>((end->seconds - begin->seconds) * 1e3);
  return Result::success;
}

Result cuModuleLoadData(ModuleHandle* handle, const void* image) {
  BALE_ENTER(true);
  auto module = std::make_unique<FakeModule>();
  module->ptx = static_cast<const char*>(image);
  if (module->ptx.find(".version ") == std::string::npos) return k_invalid_image;
  *handle = handle_of<ModuleHandle>(module);
  engine.modules.emplace(*handle, std::move(module));
  return Result::success;
}

Result cuModuleUnload(ModuleHandle handle) {
  BALE_ENTER(true);
  if (engine.modules.erase(handle) == 0) engine.note("a module is unloaded that is not loaded");
  return Result::success;
}

Result cuModuleGetFunction(FunctionHandle* handle, ModuleHandle module, const char* name) {
  BALE_ENTER(true);
  const auto found = engine.modules.find(module);
  if (found == engine.modules.end()) return k_invalid_handle;
  const std::string& ptx = found->second->ptx;
  if (ptx.find(".entry " + std::string(name) + "(") == std::string::npos) return k_not_found;
  auto function = std::make_unique<FakeFunction>(FakeFunction{.name = name, .kernel = host_kernel_named(name)});
  const std::size_t size = parameter_bytes(*function);
  if (ptx.find(std::string(name) + "_param_0[" + std::to_string(size) + "]") == std::string::npos) {
    engine.note("the kernel's parameter has another size than the host's");
  }
  if (!can_launch(*function)) return k_not_found;
  *handle = handle_of<FunctionHandle>(function);
  engine.functions.push_back(std::move(function));
  return Result::success;
}

Result cuLaunchKernel(FunctionHandle handle, unsigned grid_x, unsigned grid_y, unsigned, unsigned block_x, unsigned,
                      unsigned, unsigned, StreamHandle stream_handle, void** parameters, void**) {
  BALE_ENTER(true);
  BALE_STREAM(stream_handle);
  return launch(engine, *reinterpret_cast<FakeFunction*>(handle), {grid_x, grid_y, block_x}, *stream, parameters[0]);
}

// Of the driver, but only tests call these: they capture a stream into a graph, without the graph, and ask for the
// device's memory.
[[gnu::visibility("default")]] Result cuStreamBeginCapture_v2(StreamHandle handle, CaptureMode) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  stream->captured = true;
  return Result::success;
}

[[gnu::visibility("default")]] Result cuStreamEndCapture(StreamHandle handle, void** graph) {
  BALE_ENTER(true);
  BALE_STREAM(handle);
  stream->captured = false;
  *graph = nullptr;
  return Result::success;
}

[[gnu::visibility("default")]] Result cuGraphDestroy(void*) { return Result::success; }

[[gnu::visibility("default")]] Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  BALE_ENTER(true);
  *total = k_device_bytes;
  *free = *total;
  for (const auto& [address, allocation] : engine.allocations) *free -= allocation.size;
  return Result::success;
}

// For tests that are not in C++, or run over any driver: the findings, one per line, and the number of live objects.
[[gnu::visibility("default")]] const char* fake_cuda_findings() {
  static std::string lines;
  lines.clear();
  for (const std::string& line : findings()) lines += line + "\n";
  return lines.c_str();
}
/// Reads device memory as work that is queued on that stream now would see it.
[[gnu::visibility("default")]] int fake_cuda_read(void* to, DevicePointer from, std::size_t size, StreamHandle stream) {
  thread_state().current.push_back(the_context());
  Result result = cuMemcpyDtoHAsync_v2(to, from, size, stream);
  if (result == Result::success) result = cuStreamSynchronize(stream);
  thread_state().current.pop_back();
  return static_cast<int>(result);
}
[[gnu::visibility("default")]] void fake_cuda_fail_once(const char* function, int result) {
  fail_once(function, 0, result);
}
[[gnu::visibility("default")]] void fake_cuda_take_pageable() { take_pageable(); }
[[gnu::visibility("default")]] void fake_cuda_refuse(const char* function, int result) {
  take_pageable();
  refuse(function, result);
}
[[gnu::visibility("default")]] int fake_cuda_num_live() {
  const Live now = live();
  return now.contexts + now.streams + now.events + now.allocations + now.pinned_allocations + now.registrations +
         now.modules;
}

}  // extern "C"
