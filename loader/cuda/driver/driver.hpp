// The functions of CUDA's driver API that the loader calls, loaded at run time.
//
// The driver (libcuda.so.1) is installed with the GPU's kernel module, not with a program. Without it, a request for a
// device throws, and everything else works. Names, arguments and numbers are those of the driver's binary interface.
// They are declared here so that the build needs no CUDA header; tests/unit/cuda/cuda_driver_test.cpp compares them
// with cuda.h if it is installed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bale::cuda_detail {

/// CUresult. Only the values that the loader distinguishes; the driver may return any other number.
enum class Result : int {
  success = 0,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,  // the process is ending, and the driver has already shut down
  stub_library = 34,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  jit_compiler_not_found = 221,
  unsupported_ptx_version = 222,
  jit_compilation_disabled = 223,
  invalid_source = 300,
  shared_object_init_failed = 303,
  operating_system = 304,
  not_ready = 600,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported = 804,
  stream_capture_implicit = 906,
  unknown = 999,
};

enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

using DeviceNumber = int;                  // CUdevice
using DevicePointer = unsigned long long;  // CUdeviceptr
using ContextHandle = struct ContextObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;

inline constexpr unsigned k_stream_non_blocking = 1;  // does not wait for the default stream
inline const StreamHandle k_stream_of_thread = reinterpret_cast<StreamHandle>(2);  // CU_STREAM_PER_THREAD
inline constexpr unsigned k_event_disable_timing = 2;
inline constexpr unsigned k_host_register_portable = 1;  // page-locked for every context
inline constexpr unsigned k_host_alloc_portable = 1;

// clang-format off
#define BALE_CUDA_DRIVER_FUNCTIONS(FUNCTION)                                                                          \
  FUNCTION(cuInit, (unsigned flags))                                                                                  \
  FUNCTION(cuGetErrorName, (Result result, const char** name))                                                        \
  FUNCTION(cuGetErrorString, (Result result, const char** text))                                                      \
  FUNCTION(cuDeviceGetCount, (int* count))                                                                            \
  FUNCTION(cuDeviceGet, (DeviceNumber* device, int ordinal))                                                          \
  FUNCTION(cuDeviceGetName, (char* name, int size, DeviceNumber device))                                              \
  FUNCTION(cuDevicePrimaryCtxRetain, (ContextHandle* context, DeviceNumber device))                                   \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))                                                       \
  FUNCTION(cuCtxPushCurrent_v2, (ContextHandle context))                                                              \
  FUNCTION(cuCtxPopCurrent_v2, (ContextHandle* context))                                                              \
  FUNCTION(cuCtxSynchronize, ())                                                                                      \
  FUNCTION(cuThreadExchangeStreamCaptureMode, (CaptureMode* mode))                                                    \
  FUNCTION(cuMemHostRegister_v2, (void* memory, std::size_t size, unsigned flags))                                    \
  FUNCTION(cuMemHostUnregister, (void* memory))                                                                       \
  FUNCTION(cuMemHostAlloc, (void** memory, std::size_t size, unsigned flags))                                         \
  FUNCTION(cuMemFreeHost, (void* memory))                                                                             \
  FUNCTION(cuMemAlloc_v2, (DevicePointer* memory, std::size_t size))                                                  \
  FUNCTION(cuMemFree_v2, (DevicePointer memory))                                                                      \
  FUNCTION(cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, std::size_t size, StreamHandle stream))         \
  FUNCTION(cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, std::size_t size, StreamHandle stream))               \
  FUNCTION(cuStreamCreate, (StreamHandle* stream, unsigned flags))                                                    \
  FUNCTION(cuStreamDestroy_v2, (StreamHandle stream))                                                                 \
  FUNCTION(cuStreamIsCapturing, (StreamHandle stream, CaptureStatus* status))                                         \
  FUNCTION(cuStreamSynchronize, (StreamHandle stream))                                                                \
  FUNCTION(cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                               \
  FUNCTION(cuEventCreate, (EventHandle* event, unsigned flags))                                                       \
  FUNCTION(cuEventDestroy_v2, (EventHandle event))                                                                    \
  FUNCTION(cuEventRecord, (EventHandle event, StreamHandle stream))                                                   \
  FUNCTION(cuEventQuery, (EventHandle event))                                                                         \
  FUNCTION(cuEventSynchronize, (EventHandle event))                                                                   \
  FUNCTION(cuEventElapsedTime, (float* milliseconds, EventHandle begin, EventHandle end))                             \
  FUNCTION(cuModuleLoadData, (ModuleHandle* module, const void* image))                                               \
  FUNCTION(cuModuleUnload, (ModuleHandle module))                                                                     \
  FUNCTION(cuModuleGetFunction, (FunctionHandle* function, ModuleHandle module, const char* name))                    \
  FUNCTION(cuLaunchKernel, (FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,               \
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,              \
                            StreamHandle stream, void** parameters, void** extra))
// clang-format on

struct Driver {
#define BALE_CUDA_DECLARE(name, arguments) Result(*name) arguments = nullptr;
  BALE_CUDA_DRIVER_FUNCTIONS(BALE_CUDA_DECLARE)
#undef BALE_CUDA_DECLARE

  /// The driver of this process. The first call loads and initializes it; it stays loaded. Throws `not_found`
  /// without a driver or a device, `io` if the driver fails; the next call tries again. Safe in any thread.
  static const Driver& get();

  /// Throws unless `result` is a success: "CUDA: cannot ACTION: the driver's error text".
  void check(Result result, std::string_view action) const;
  /// "operation not supported (CUDA_ERROR_NOT_SUPPORTED)"
  std::string text(Result result) const;
};

}  // namespace bale::cuda_detail
