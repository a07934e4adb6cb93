#include "bale/loader/cuda/driver/driver.hpp"

#include <dlfcn.h>

#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::cuda_detail {
namespace {

constexpr const char* k_library = "libcuda.so.1";

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorCode::unsupported, fmt::format("the CUDA driver {} has no function {}", k_library, name),
                {.hint = "update the driver: one of CUDA 11 or later is needed"});
  }
}

Driver load() {
  void* const library = ::dlopen(k_library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw Error(ErrorCode::not_found, fmt::format("no CUDA driver: {}", why != nullptr ? why : k_library),
                {.hint = "install NVIDIA's driver, or load batches into ordinary memory (no device)"});
  }
  Driver driver;
#define BALE_CUDA_FIND(name, arguments) find(library, #name, driver.name);
  BALE_CUDA_DRIVER_FUNCTIONS(BALE_CUDA_FIND)
#undef BALE_CUDA_FIND
  driver.check(driver.cuInit(0), "start the driver");
  return driver;
}

std::string hint_for(Result result) {
  switch (result) {
    case Result::out_of_memory:
      return "reduce batch_size, depth or hold, or free memory on the device";
    case Result::no_device:
      return "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or load batches into ordinary memory (no device)";
    case Result::stub_library:
      return "this is the toolkit's library for linking: take its folder out of LD_LIBRARY_PATH, and install NVIDIA's "
             "driver";
    case Result::device_unavailable:
      return "another process may have the device for itself: look at nvidia-smi";
    case Result::system_not_ready:
      return "a service of the driver is not running, such as nvidia-fabricmanager on machines with NVSwitch";
    case Result::system_driver_mismatch:
      return "the driver was updated, and its kernel module was not: restart the machine";
    case Result::compat_not_supported:
      return "take the folder of CUDA's compatibility libraries out of LD_LIBRARY_PATH, or update the driver";
    case Result::operating_system:
    case Result::unknown:
      return "if nvidia-smi fails, too, the driver does not work: restart the machine, or WSL";
    case Result::not_initialized:
      return "CUDA cannot be used in a process that was forked from one that uses it: start it by spawn";
    default:
      return "";
  }
}

}  // namespace

const Driver& Driver::get() {
  static const Driver driver = load();
  return driver;
}

std::string Driver::text(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return fmt::format("{} ({})", text != nullptr ? text : "unknown error",
                     name != nullptr ? name : std::to_string(static_cast<int>(result)));
}

void Driver::check(Result result, std::string_view action) const {
  if (result == Result::success) return;
  const bool no_device =
      result == Result::no_device || result == Result::invalid_device || result == Result::stub_library;
  throw Error(no_device ? ErrorCode::not_found : ErrorCode::io,
              fmt::format("CUDA: cannot {}: {}", action, text(result)), {.hint = hint_for(result)});
}

}  // namespace bale::cuda_detail
