// A device's primary context, and what lives in it: streams, events, memory, kernels. Each frees itself.
//
// The primary context is the one that PyTorch, JAX and CuPy use too, so pointers and streams go between them and the
// loader as they are. It is made current for the length of a call only, whatever else the thread has current.
//
// Any thread may use these objects. Functions throw the driver's errors; destructors ignore them: the driver may be
// gone before the last object is, at the end of the process, and so may be the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/cuda/driver.hpp"

namespace bale::cuda_detail {

class Context {
 public:
  /// Throws `not_found` where there is no such device.
  static std::shared_ptr<const Context> open(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  /// "NVIDIA H200"
  std::string device_name() const;
  /// Waits for everything that any stream of the device was given.
  void synchronize() const;

 private:
  friend class Current;
  explicit Context(int ordinal);
  const Driver& driver_;
  int ordinal_;
  DeviceNumber device_ = 0;
  ContextHandle handle_ = nullptr;
};

/// Makes a context current in this thread for as long as it lives. What the thread does meanwhile is no part of a graph
/// that another thread is capturing, and does not break the capture.
class Current {
 public:
  explicit Current(const Context& context);
  /// For destructors: does not throw; false where nothing can be done any more.
  Current(const Context& context, std::nothrow_t) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  explicit operator bool() const { return pushed_ == Result::success; }

 private:
  const Driver& driver_;
  Result pushed_;
  bool mode_exchanged_ = false;
  CaptureMode mode_ = CaptureMode::relaxed;
};

/// A stream of our own; does not wait for the default stream.
class Stream {
 public:
  explicit Stream(std::shared_ptr<const Context> context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamHandle handle() const { return handle_; }
  void synchronize() const;

 private:
  std::shared_ptr<const Context> context_;
  StreamHandle handle_ = nullptr;
};

/// A point in a stream: everything that the stream was given before the event was made. Never moved to another point.
class Event {
 public:
  enum class Timing : bool { off, on };

  Event(std::shared_ptr<const Context> context, StreamHandle stream, Timing timing = Timing::off);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool done() const;
  void synchronize() const;
  /// What `stream` is given from now on waits for this point, on the device.
  void wait_on(StreamHandle stream) const;
  /// Between two points that are done and have their timing on.
  static double seconds_between(const Event& begin, const Event& end);

 private:
  std::shared_ptr<const Context> context_;
  EventHandle handle_ = nullptr;
};

/// Memory on the device, aligned to 256 bytes, with no defined content. Whoever frees it has seen to its last use.
class DeviceMemory {
 public:
  DeviceMemory(std::shared_ptr<const Context> context, std::size_t size_bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  DevicePointer address() const { return address_; }

 private:
  std::shared_ptr<const Context> context_;
  DevicePointer address_ = 0;
};

/// Page-locked memory of the host.
class PinnedMemory {
 public:
  PinnedMemory(std::shared_ptr<const Context> context, std::size_t size_bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::shared_ptr<const Context> context_;
  std::byte* data_ = nullptr;
};

/// Page-locks memory that is there already, for as long as this lives, which must end before the memory does.
class PinnedRange {
 public:
  PinnedRange(std::shared_ptr<const Context> context, MutableBytes memory);
  ~PinnedRange();
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;

 private:
  std::shared_ptr<const Context> context_;
  MutableBytes memory_;
};

/// Kernels, compiled for the device when they are loaded.
class Module {
 public:
  /// `ptx`: NUL-terminated text.
  Module(std::shared_ptr<const Context> context, const char* ptx);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  FunctionHandle function(const std::string& name) const;

 private:
  std::shared_ptr<const Context> context_;
  ModuleHandle handle_ = nullptr;
};

}  // namespace bale::cuda_detail
