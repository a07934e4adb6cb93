// Our declarations of nvJPEG's functions against nvjpeg.h, where that is installed: nothing is called.
#include <nvjpeg.h>

#include <cstddef>

#include "bale/loader/cuda/decode/nvjpeg.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/image/same_function.hpp"

using namespace bale::cuda_detail;
using bale::test::SameFunction;

static_assert(NVJPEG_VER_MAJOR >= 12, "nvjpegImage_t was another one before");
static_assert(sizeof(NvjpegImage) == sizeof(nvjpegImage_t));
static_assert(offsetof(NvjpegImage, channel) == offsetof(nvjpegImage_t, channel));
static_assert(offsetof(NvjpegImage, pitch) == offsetof(nvjpegImage_t, pitch));
static_assert(sizeof(NvjpegImage::pitch) == sizeof(nvjpegImage_t::pitch));

TEST_CASE("Functions and numbers of nvJPEG are those of nvjpeg.h") {
#define BALE_COMPARE(name, arguments) CHECK(SameFunction<decltype(Nvjpeg::name), decltype(&::name)>::value);
  BALE_NVJPEG_FUNCTIONS(BALE_COMPARE)
#undef BALE_COMPARE
  CHECK(static_cast<int>(NvjpegStatus::success) == NVJPEG_STATUS_SUCCESS);
  CHECK(static_cast<int>(NvjpegStatus::not_initialized) == NVJPEG_STATUS_NOT_INITIALIZED);
  CHECK(static_cast<int>(NvjpegStatus::invalid_parameter) == NVJPEG_STATUS_INVALID_PARAMETER);
  CHECK(static_cast<int>(NvjpegStatus::bad_jpeg) == NVJPEG_STATUS_BAD_JPEG);
  CHECK(static_cast<int>(NvjpegStatus::jpeg_not_supported) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
  CHECK(static_cast<int>(NvjpegStatus::allocator_failure) == NVJPEG_STATUS_ALLOCATOR_FAILURE);
  CHECK(static_cast<int>(NvjpegStatus::execution_failed) == NVJPEG_STATUS_EXECUTION_FAILED);
  CHECK(static_cast<int>(NvjpegStatus::arch_mismatch) == NVJPEG_STATUS_ARCH_MISMATCH);
  CHECK(static_cast<int>(NvjpegStatus::internal_error) == NVJPEG_STATUS_INTERNAL_ERROR);
  CHECK(static_cast<int>(NvjpegStatus::implementation_not_supported) == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED);
  CHECK(static_cast<int>(NvjpegStatus::incomplete_bitstream) == NVJPEG_STATUS_INCOMPLETE_BITSTREAM);
  CHECK(static_cast<int>(NvjpegBackend::automatic) == NVJPEG_BACKEND_DEFAULT);
  CHECK(static_cast<int>(NvjpegBackend::gpu_hybrid) == NVJPEG_BACKEND_GPU_HYBRID);
  CHECK(static_cast<int>(NvjpegBackend::hardware) == NVJPEG_BACKEND_HARDWARE);
  CHECK(k_nvjpeg_rgb == NVJPEG_OUTPUT_RGBI);
  CHECK(k_nvjpeg_interpolate_chroma == NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION);
}
