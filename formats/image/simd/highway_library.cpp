// The functions of Highway that kernels call, which open it: Debian's measures its clock for milliseconds when it is
// opened.
#include <hwy/targets.h>

#include <cstdarg>
#include <cstdio>

#include "bale_lazy_hwy.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_HWY
namespace {

constinit bale::LazyLibrary highway_library{BALE_LAZY_HWY};

}  // namespace

namespace hwy {

std::int64_t SupportedTargets() {
  // By the names that a linker knows.
  static constinit const bale::LazyFunction<decltype(SupportedTargets)> function{highway_library,
                                                                                 "_ZN3hwy16SupportedTargetsEv"};
  return function();
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  static constinit const bale::LazyFunction<decltype(SetSupportedTargetsForTest)> function{
      highway_library, "_ZN3hwy26SetSupportedTargetsForTestEl"};
  function(targets);
}

ChosenTarget& GetChosenTarget() {
  static constinit const bale::LazyFunction<decltype(GetChosenTarget)> function{highway_library,
                                                                                "_ZN3hwy15GetChosenTargetEv"};
  return function();
}

/// For the assertions of builds without optimization.
void Abort(const char* file, int line, const char* format, ...) {
  using Function = void(const char*, int, const char*, ...);
  static constinit const bale::LazyFunction<Function> function{highway_library, "_ZN3hwy5AbortEPKciS1_z"};
  char text[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  function(file, line, "%s", text);
  __builtin_unreachable();
}

}  // namespace hwy
#endif
