// Our declarations of the driver's functions against cuda.h, where that is installed: nothing is called.
#include "bale/loader/cuda/driver/driver.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/image/same_function.hpp"

// After ours: it renames some functions by macros.
#include <cuda.h>

#ifdef cuEventElapsedTime  // CUDA 13 declares the function's second version only; drivers have both, alike
#undef cuEventElapsedTime
extern "C" decltype(cuEventElapsedTime_v2) cuEventElapsedTime;
#endif

using namespace bale::cuda_detail;
using bale::test::SameFunction;

TEST_CASE("Functions and numbers of the driver are those of cuda.h") {
#define BALE_COMPARE(name, arguments) CHECK(SameFunction<decltype(Driver::name), decltype(&::name)>::value);
  BALE_CUDA_DRIVER_FUNCTIONS(BALE_COMPARE)
#undef BALE_COMPARE
  CHECK(static_cast<int>(Result::success) == CUDA_SUCCESS);
  CHECK(static_cast<int>(Result::out_of_memory) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(static_cast<int>(Result::not_initialized) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(static_cast<int>(Result::deinitialized) == CUDA_ERROR_DEINITIALIZED);
  CHECK(static_cast<int>(Result::stub_library) == CUDA_ERROR_STUB_LIBRARY);
  CHECK(static_cast<int>(Result::device_unavailable) == CUDA_ERROR_DEVICE_UNAVAILABLE);
  CHECK(static_cast<int>(Result::shared_object_init_failed) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
  CHECK(static_cast<int>(Result::operating_system) == CUDA_ERROR_OPERATING_SYSTEM);
  CHECK(static_cast<int>(Result::not_supported) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(static_cast<int>(Result::system_not_ready) == CUDA_ERROR_SYSTEM_NOT_READY);
  CHECK(static_cast<int>(Result::system_driver_mismatch) == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  CHECK(static_cast<int>(Result::compat_not_supported) == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
  CHECK(static_cast<int>(Result::unknown) == CUDA_ERROR_UNKNOWN);
  CHECK(static_cast<int>(Result::no_device) == CUDA_ERROR_NO_DEVICE);
  CHECK(static_cast<int>(Result::invalid_device) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(static_cast<int>(Result::not_ready) == CUDA_ERROR_NOT_READY);
  CHECK(static_cast<int>(CaptureMode::global) == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(static_cast<int>(CaptureMode::thread_local_) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(static_cast<int>(CaptureMode::relaxed) == CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(k_stream_non_blocking == CU_STREAM_NON_BLOCKING);
  CHECK(k_event_disable_timing == CU_EVENT_DISABLE_TIMING);
  CHECK(k_host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);
  CHECK(k_host_alloc_portable == CU_MEMHOSTALLOC_PORTABLE);
}
