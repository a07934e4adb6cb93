#include "bale/loader/cuda/decode/nvjpeg.hpp"

#include <dlfcn.h>

#include <vector>

#include <fmt/format.h>

namespace bale::cuda_detail {
namespace {

constexpr const char* k_names[] = {"libnvjpeg.so.13", "libnvjpeg.so.12"};
constexpr NvjpegBackend k_fastest_first[] = {NvjpegBackend::hardware, NvjpegBackend::gpu_hybrid,
                                             NvjpegBackend::automatic};
constexpr unsigned k_flags[] = {k_nvjpeg_interpolate_chroma, 0};  // nearest to the pixels of the host first

void add_reason(std::string& refusal, const std::string& reason) {
  if (!refusal.empty()) refusal += "; ";
  refusal += reason;
}

}  // namespace

std::string text_of(NvjpegStatus status) {
  switch (status) {
    case NvjpegStatus::success:
      return "NVJPEG_STATUS_SUCCESS";
    case NvjpegStatus::not_initialized:
      return "NVJPEG_STATUS_NOT_INITIALIZED";
    case NvjpegStatus::invalid_parameter:
      return "NVJPEG_STATUS_INVALID_PARAMETER";
    case NvjpegStatus::bad_jpeg:
      return "NVJPEG_STATUS_BAD_JPEG";
    case NvjpegStatus::jpeg_not_supported:
      return "NVJPEG_STATUS_JPEG_NOT_SUPPORTED";
    case NvjpegStatus::allocator_failure:
      return "NVJPEG_STATUS_ALLOCATOR_FAILURE";
    case NvjpegStatus::execution_failed:
      return "NVJPEG_STATUS_EXECUTION_FAILED";
    case NvjpegStatus::arch_mismatch:
      return "NVJPEG_STATUS_ARCH_MISMATCH";
    case NvjpegStatus::internal_error:
      return "NVJPEG_STATUS_INTERNAL_ERROR";
    case NvjpegStatus::implementation_not_supported:
      return "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED";
    case NvjpegStatus::incomplete_bitstream:
      return "NVJPEG_STATUS_INCOMPLETE_BITSTREAM";
  }
  return fmt::format("nvJPEG status {}", static_cast<int>(status));
}

std::unique_ptr<Nvjpeg> Nvjpeg::open(const std::string& path, std::string& refusal) {
  std::vector<std::string> paths{path};
  if (path.empty()) paths.assign(std::begin(k_names), std::end(k_names));
  for (const std::string& one : paths) {
    std::unique_ptr<Nvjpeg> library(new Nvjpeg);
    if (library->load(one, refusal) && library->create(refusal)) return library;
  }
  return nullptr;
}

/// The library stays loaded, as the driver does.
bool Nvjpeg::load(const std::string& path, std::string& refusal) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    add_reason(refusal, why != nullptr ? why : path);
    return false;
  }
#define BALE_NVJPEG_FIND(name, arguments)                                \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name));      \
  if (name == nullptr) {                                                 \
    add_reason(refusal, fmt::format("{} has no function " #name, path)); \
    return false;                                                        \
  }
  BALE_NVJPEG_FUNCTIONS(BALE_NVJPEG_FIND)
#undef BALE_NVJPEG_FIND
  return true;
}

bool Nvjpeg::create(std::string& refusal) {
  NvjpegStatus status{};
  for (const NvjpegBackend backend : k_fastest_first) {
    for (const unsigned flags : k_flags) {
      status = nvjpegCreateEx(backend, nullptr, nullptr, flags, &handle_);
      if (status == NvjpegStatus::success) return true;
    }
  }
  handle_ = nullptr;
  add_reason(refusal, "nvjpegCreateEx: " + text_of(status));
  return false;
}

Nvjpeg::~Nvjpeg() {
  if (handle_ != nullptr) nvjpegDestroy(handle_);
}

}  // namespace bale::cuda_detail
