#include "bale/loader/cuda/driver/context.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::align_val_t k_host_alignment{4096};

/// Whether a driver or device does not take PTX, as opposed to one that fails.
bool refuses_kernels(Result result) {
  switch (result) {
    case Result::invalid_image:
    case Result::no_binary_for_gpu:
    case Result::invalid_ptx:
    case Result::jit_compiler_not_found:
    case Result::unsupported_ptx_version:
    case Result::jit_compilation_disabled:
    case Result::invalid_source:
    case Result::shared_object_init_failed:
    case Result::not_supported:
      return true;
    default:
      return false;
  }
}

}  // namespace

Context::Context(int ordinal) : driver_(Driver::get()), ordinal_(ordinal) {
  int count = 0;
  driver_.check(driver_.cuDeviceGetCount(&count), "count devices");
  if (ordinal < 0 || ordinal >= count) {
    throw Error(ErrorCode::not_found, fmt::format("no CUDA device {}: there are {}", ordinal, count),
                {.hint = "they are counted from 0; look at nvidia-smi and CUDA_VISIBLE_DEVICES"});
  }
  driver_.check(driver_.cuDeviceGet(&device_, ordinal), fmt::format("open device {}", ordinal));
  driver_.check(driver_.cuDevicePrimaryCtxRetain(&handle_, device_), fmt::format("open device {}", ordinal));
}

Context::~Context() { driver_.cuDevicePrimaryCtxRelease_v2(device_); }

std::shared_ptr<const Context> Context::open(int ordinal) {
  return std::shared_ptr<const Context>(new Context(ordinal));
}

std::string Context::device_name() const {
  char name[256] = {};
  driver_.check(driver_.cuDeviceGetName(name, sizeof name - 1, device_), "name the device");
  return name;
}

void Context::synchronize() const {
  const Current current(*this);
  driver_.check(driver_.cuCtxSynchronize(), "wait for the device");
}

Current::Current(const Context& context) : Current(context, std::nothrow) {
  driver_.check(pushed_, "make the device current");
}

Current::Current(const Context& context, std::nothrow_t) noexcept
    : driver_(context.driver_), pushed_(driver_.cuCtxPushCurrent_v2(context.handle_)) {
  if (*this) mode_exchanged_ = driver_.cuThreadExchangeStreamCaptureMode(&mode_) == Result::success;
}

Current::~Current() {
  if (mode_exchanged_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  ContextHandle popped = nullptr;
  if (*this) driver_.cuCtxPopCurrent_v2(&popped);
}

Stream::Stream(std::shared_ptr<const Context> context) : context_(std::move(context)) {
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuStreamCreate(&handle_, k_stream_non_blocking), "make a stream");
}

Stream::~Stream() {
  if (const Current current(*context_, std::nothrow); current) context_->driver().cuStreamDestroy_v2(handle_);
}

void Stream::synchronize() const {
  const Current current(*context_);
  context_->driver().check(context_->driver().cuStreamSynchronize(handle_), "wait for copies");
}

bool is_captured(const Context& context, StreamHandle stream) {
  const Current current(context);
  CaptureStatus status = CaptureStatus::none;
  const Result result = context.driver().cuStreamIsCapturing(stream, &status);
  // The default stream waits for others, and one of them is being captured.
  if (result == Result::stream_capture_implicit) return true;
  return result == Result::success && status != CaptureStatus::none;
}

void refuse_captured(const Context& context, StreamHandle stream) {
  if (!is_captured(context, stream)) return;
  throw Error(ErrorCode::invalid_argument, "this stream is being captured into a CUDA graph",
              {.hint = "take the batch before the capture, and copy it into the memory that the graph reads"});
}

Event::Event(std::shared_ptr<const Context> context, StreamHandle stream, Timing timing)
    : context_(std::move(context)) {
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuEventCreate(&handle_, timing == Timing::on ? 0 : k_event_disable_timing), "make an event");
  const Result recorded = driver.cuEventRecord(handle_, stream);
  if (recorded != Result::success) driver.cuEventDestroy_v2(handle_);
  driver.check(recorded, "record an event");
}

Event::~Event() {
  if (const Current current(*context_, std::nothrow); current) context_->driver().cuEventDestroy_v2(handle_);
}

bool Event::done() const {
  const Current current(*context_);
  const Result result = context_->driver().cuEventQuery(handle_);
  if (result == Result::not_ready) return false;
  context_->driver().check(result, "complete queued GPU work");
  return true;
}

void Event::synchronize() const {
  const Current current(*context_);
  context_->driver().check(context_->driver().cuEventSynchronize(handle_), "complete queued GPU work");
}

void Event::wait_on(StreamHandle stream) const {
  const Current current(*context_);
  context_->driver().check(context_->driver().cuStreamWaitEvent(stream, handle_, 0), "make a stream wait");
}

double Event::seconds_between(const Event& begin, const Event& end) {
  const Current current(*begin.context_);
  float milliseconds = 0;
  const Driver& driver = begin.context_->driver();
  driver.check(driver.cuEventElapsedTime(&milliseconds, begin.handle_, end.handle_), "time the device's work");
  return milliseconds / 1e3;
}

DeviceMemory::DeviceMemory(std::shared_ptr<const Context> context, std::size_t size_bytes)
    : context_(std::move(context)) {
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuMemAlloc_v2(&address_, size_bytes), fmt::format("take {} bytes on the device", size_bytes));
}

DeviceMemory::~DeviceMemory() {
  if (const Current current(*context_, std::nothrow); current) context_->driver().cuMemFree_v2(address_);
}

HostMemory::HostMemory(std::shared_ptr<const Context> context, std::size_t size_bytes, PageLock wanted)
    : context_(std::move(context)) {
  void* memory = nullptr;
  if (wanted == PageLock::on) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    const Result result = driver.cuMemHostAlloc(&memory, size_bytes, k_host_alloc_portable);
    is_locked_ = result == Result::success;
    if (!is_locked_) refusal_ = driver.text(result);
  }
  if (!is_locked_) memory = ::operator new(size_bytes, k_host_alignment);
  data_ = static_cast<std::byte*>(memory);
}

HostMemory::~HostMemory() {
  if (!is_locked_) {
    ::operator delete(data_, k_host_alignment);
  } else if (const Current current(*context_, std::nothrow); current) {
    context_->driver().cuMemFreeHost(data_);
  }
}

LockedRange::LockedRange(std::shared_ptr<const Context> context, MutableBytes memory, PageLock wanted)
    : context_(std::move(context)), memory_(memory) {
  if (wanted == PageLock::off) return;
  const Current current(*context_);
  const Driver& driver = context_->driver();
  const Result result = driver.cuMemHostRegister_v2(memory_.data(), memory_.size(), k_host_register_portable);
  is_locked_ = result == Result::success;
  if (!is_locked_) refusal_ = driver.text(result);
}

LockedRange::~LockedRange() {
  if (!is_locked_) return;
  if (const Current current(*context_, std::nothrow); current) {
    context_->driver().cuMemHostUnregister(memory_.data());
  }
}

std::unique_ptr<const Module> Module::load(std::shared_ptr<const Context> context, const char* ptx,
                                           const std::vector<std::string>& kernels, std::string& refusal) {
  const Current current(*context);
  const Driver& driver = context->driver();
  ModuleHandle handle = nullptr;
  Result result = driver.cuModuleLoadData(&handle, ptx);
  std::unique_ptr<Module> module;
  if (!refuses_kernels(result)) {
    driver.check(result, "load the kernels");
    module.reset(new Module(std::move(context), handle));
    // A driver that loads lazily (CUDA_MODULE_LOADING) may refuse a kernel now.
    for (const std::string& kernel : kernels) {
      result = module->find(kernel);
      if (refuses_kernels(result)) break;
      driver.check(result, fmt::format("find the kernel {}", kernel));
    }
  }
  if (!refuses_kernels(result)) return module;
  refusal = driver.text(result);
  return nullptr;
}

Module::Module(std::shared_ptr<const Context> context, ModuleHandle handle)
    : context_(std::move(context)), handle_(handle) {}

Module::~Module() {
  if (const Current current(*context_, std::nothrow); current) context_->driver().cuModuleUnload(handle_);
}

/// Requires that the context is current.
Result Module::find(const std::string& kernel) {
  return context_->driver().cuModuleGetFunction(&functions_[kernel], handle_, kernel.c_str());
}

}  // namespace bale::cuda_detail
