// The functions of NVIDIA's nvJPEG library that the loader calls, loaded at run time.
//
// The library (libnvjpeg.so.12 or .13) comes with the CUDA toolkit and with the packages nvidia-nvjpeg-cu12 and
// nvidia-nvjpeg of PyPI. Names, arguments and numbers are those of its binary interface, which nvjpeg.h of CUDA 12 and
// 13 declares; CUDA 11 has another NvjpegImage. They are declared here so that the build needs no CUDA header;
// tests/unit/cuda/decode/nvjpeg_abi_test.cpp compares them with nvjpeg.h if it is installed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bale/loader/cuda/driver/driver.hpp"

namespace bale::cuda_detail {

/// nvjpegStatus_t. The library may return any other number.
enum class NvjpegStatus : int {
  success = 0,
  not_initialized = 1,
  invalid_parameter = 2,
  bad_jpeg = 3,
  jpeg_not_supported = 4,
  allocator_failure = 5,
  execution_failed = 6,
  arch_mismatch = 7,
  internal_error = 8,
  implementation_not_supported = 9,
  incomplete_bitstream = 10,
};
/// "NVJPEG_STATUS_BAD_JPEG"
std::string text_of(NvjpegStatus status);

/// nvjpegBackend_t.
enum class NvjpegBackend : int {
  automatic = 0,
  gpu_hybrid = 2,  // batches of more than 50 images are decoded on the device alone, smaller ones partly by this thread
  hardware = 3,    // the decoding engines of A100, H100 and later data-center devices
};

/// nvjpegImage_t.
struct NvjpegImage {
  unsigned char* channel[4] = {};
  std::size_t pitch[4] = {};  // bytes
};

using NvjpegHandle = struct NvjpegLibraryObject*;
using NvjpegState = struct NvjpegStateObject*;

inline constexpr int k_nvjpeg_rgb = 5;                       // NVJPEG_OUTPUT_RGBI: interleaved, in channel 0
inline constexpr unsigned k_nvjpeg_interpolate_chroma = 32;  // NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, since 12.1

// clang-format off
#define BALE_NVJPEG_FUNCTIONS(FUNCTION)                                                                               \
  FUNCTION(nvjpegCreateEx, (NvjpegBackend backend, void* device_allocator, void* pinned_allocator, unsigned flags,    \
                            NvjpegHandle* handle))                                                                    \
  FUNCTION(nvjpegDestroy, (NvjpegHandle handle))                                                                      \
  FUNCTION(nvjpegJpegStateCreate, (NvjpegHandle handle, NvjpegState* state))                                          \
  FUNCTION(nvjpegJpegStateDestroy, (NvjpegState state))                                                               \
  FUNCTION(nvjpegDecodeBatchedInitialize, (NvjpegHandle handle, NvjpegState state, int batch_size,                    \
                                           int max_cpu_threads, int output_format))                                   \
  FUNCTION(nvjpegDecodeBatched, (NvjpegHandle handle, NvjpegState state, const unsigned char* const* data,            \
                                 const std::size_t* lengths, NvjpegImage* destinations, StreamHandle stream))         \
  FUNCTION(nvjpegDecode, (NvjpegHandle handle, NvjpegState state, const unsigned char* data, std::size_t length,      \
                          int output_format, NvjpegImage* destination, StreamHandle stream))
// clang-format on

/// A handle of the library for one context, with the fastest decoder that it has there.
class Nvjpeg {
 public:
  /// Loads the library `path`, or if that is empty, whichever of the two versions is found by name and works. nullptr
  /// if none does, with the reason in `refusal`. Requires that the context is current.
  static std::unique_ptr<Nvjpeg> open(const std::string& path, std::string& refusal);
  ~Nvjpeg();
  Nvjpeg(const Nvjpeg&) = delete;
  Nvjpeg& operator=(const Nvjpeg&) = delete;

#define BALE_NVJPEG_DECLARE(name, arguments) NvjpegStatus(*name) arguments = nullptr;
  BALE_NVJPEG_FUNCTIONS(BALE_NVJPEG_DECLARE)
#undef BALE_NVJPEG_DECLARE

  NvjpegHandle handle() const { return handle_; }
  /// Never destroys the handle: its device is lost.
  void abandon() { handle_ = nullptr; }

 private:
  Nvjpeg() = default;
  bool load(const std::string& path, std::string& refusal);
  bool create(std::string& refusal);

  NvjpegHandle handle_ = nullptr;
};

}  // namespace bale::cuda_detail
