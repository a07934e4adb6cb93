// DefaultFloatingPoint: floating point as worker processes have it, whatever rounding the caller chose.
#pragma once

#include <cfenv>

namespace bale {

/// For the calling thread and the threads that it starts, until it is destroyed.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&callers_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t callers_{};
};

}  // namespace bale
