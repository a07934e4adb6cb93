#include "bale/formats/base/system/lazy_library.hpp"

#include <dlfcn.h>

#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

[[noreturn]] void fail_to_load(const char* name, const char* package) {
  const char* const why = ::dlerror();
  const std::string hint =
      *package == '\0' ? fmt::format("install {}", name) : fmt::format("apt-get install {}", package);
  throw Error(ErrorCode::unsupported, fmt::format("cannot load a library: {}", why != nullptr ? why : name),
              {.hint = hint});
}

}  // namespace

void* LazyLibrary::open() {
  void* handle = handle_.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  handle = ::dlopen(name_, RTLD_NOW | RTLD_LOCAL);  // the same for all who come at once
  if (handle == nullptr) fail_to_load(name_, package_);
  handle_.store(handle, std::memory_order_release);
  return handle;
}

void* LazyLibrary::find_function(const char* name) {
  void* const found = ::dlsym(open(), name);
  if (found == nullptr) fail_to_load(name_, package_);
  return found;
}

void* LazyLibrary::find_variable(const char* name) {
  void* const handle = open();
  void* found = ::dlsym(RTLD_DEFAULT, name);  // where the library itself looks first
  if (found == nullptr) found = ::dlsym(handle, name);
  if (found == nullptr) fail_to_load(name_, package_);
  return found;
}

}  // namespace bale
