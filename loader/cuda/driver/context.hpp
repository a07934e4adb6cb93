// A device's primary context and the objects in it: streams, events, memory, kernels. Each object frees itself.
//
// PyTorch, JAX and CuPy use the primary context too, so they can exchange pointers and streams with the loader. It is
// current only during a call; after the call, the thread's previous context is current again.
//
// Any thread may use these objects. Functions throw the driver's errors. Destructors ignore them: at the end of the
// process, the driver or the device may be gone before the last object.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/cuda/driver/driver.hpp"

namespace bale::cuda_detail {

class Context {
 public:
  /// Throws `not_found` if there is no such device.
  static std::shared_ptr<const Context> open(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  /// "NVIDIA H200"
  std::string device_name() const;
  /// Waits for all work on all streams of the device.
  void synchronize() const;

 private:
  friend class Current;
  explicit Context(int ordinal);
  const Driver& driver_;
  int ordinal_;
  DeviceNumber device_ = 0;
  ContextHandle handle_ = nullptr;
};

/// Makes a context current in this thread during its lifetime. Driver calls of the thread in that time do not become
/// part of a graph that another thread is capturing, and do not break the capture.
class Current {
 public:
  explicit Current(const Context& context);
  /// For destructors: does not throw. Converts to false if the context cannot be used anymore.
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

/// A new stream. It does not wait for the default stream.
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

/// Whether work that is given to `stream` becomes part of a graph, or would break the capture of one.
bool is_captured(const Context& context, StreamHandle stream);
/// Throws `invalid_argument` if so: the graph would read whatever the memory of a batch holds when it runs.
void refuse_captured(const Context& context, StreamHandle stream);

/// A point in a stream, after all work that was enqueued before the event was made. It is never recorded again.
class Event {
 public:
  enum class Timing : bool { off, on };

  Event(std::shared_ptr<const Context> context, StreamHandle stream, Timing timing = Timing::off);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool done() const;
  void synchronize() const;
  /// Work that is enqueued on `stream` from now on waits for this point, on the device.
  void wait_on(StreamHandle stream) const;
  /// The time between two events. Both must be done and have Timing::on.
  static double seconds_between(const Event& begin, const Event& end);

 private:
  std::shared_ptr<const Context> context_;
  EventHandle handle_ = nullptr;
};

/// Device memory, aligned to 256 bytes, not initialized. Its last use must be over before it is destroyed.
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

/// Whether memory that copies start from is page-locked.
enum class PageLock : bool { off, on };

/// Host memory that copies start from: page-locked, or ordinary memory if the driver refuses that. Both are right;
/// copies from ordinary memory are slower, and the thread that starts them does a part of the work.
class HostMemory {
 public:
  HostMemory(std::shared_ptr<const Context> context, std::size_t size_bytes, PageLock wanted = PageLock::on);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  bool is_locked() const { return is_locked_; }
  /// Why the driver does not page-lock it; empty if it does, or was not asked.
  const std::string& refusal() const { return refusal_; }

 private:
  std::shared_ptr<const Context> context_;
  std::byte* data_ = nullptr;
  bool is_locked_ = false;
  std::string refusal_;
};

/// Page-locks existing memory during its lifetime, unless the driver refuses. It must be destroyed before the memory is
/// freed.
class LockedRange {
 public:
  LockedRange(std::shared_ptr<const Context> context, MutableBytes memory, PageLock wanted = PageLock::on);
  ~LockedRange();
  LockedRange(const LockedRange&) = delete;
  LockedRange& operator=(const LockedRange&) = delete;

  bool is_locked() const { return is_locked_; }
  /// Why the driver does not page-lock the memory; empty if it does, or was not asked.
  const std::string& refusal() const { return refusal_; }

 private:
  std::shared_ptr<const Context> context_;
  MutableBytes memory_;
  bool is_locked_ = false;
  std::string refusal_;
};

/// Kernels, compiled for the device when they are loaded.
class Module {
 public:
  /// `ptx`: NUL-terminated text. `kernels`: those of it that will be used. nullptr if the driver cannot compile it or
  /// the device cannot run it, with the reason in `refusal`.
  static std::unique_ptr<const Module> load(std::shared_ptr<const Context> context, const char* ptx,
                                            const std::vector<std::string>& kernels, std::string& refusal);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Precondition: load() was given the name.
  FunctionHandle function(const std::string& name) const { return functions_.at(name); }

 private:
  Module(std::shared_ptr<const Context> context, ModuleHandle handle);
  Result find(const std::string& kernel);

  std::shared_ptr<const Context> context_;
  ModuleHandle handle_;
  std::map<std::string, FunctionHandle> functions_;
};

}  // namespace bale::cuda_detail
