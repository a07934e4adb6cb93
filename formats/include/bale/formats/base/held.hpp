// Held: what an object points to until it is moved from.
// BALE_LIFETIMEBOUND: after a method whose result lives no longer than its object. Compilers that know the attribute
// warn when the object is a temporary.
#pragma once

#include <utility>

#include "bale/formats/base/error.hpp"

#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define BALE_LIFETIMEBOUND [[clang::lifetimebound]]
#elif __has_cpp_attribute(msvc::lifetimebound)
#define BALE_LIFETIMEBOUND [[msvc::lifetimebound]]
#endif
#endif
#ifndef BALE_LIFETIMEBOUND
#define BALE_LIFETIMEBOUND
#endif

namespace bale {

/// A pointer that throws `invalid_argument` if it is used while it is null, because its object was moved from.
template <typename Pointer>
class Held {
 public:
  explicit Held(Pointer pointer) noexcept : pointer_(std::move(pointer)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(pointer_); }
  auto& operator*() const {
    if (!pointer_) throw Error(ErrorCode::invalid_argument, "this object was moved from");
    return *pointer_;
  }
  auto* operator->() const { return &**this; }
  Pointer take() noexcept { return std::move(pointer_); }

 private:
  Pointer pointer_;
};

}  // namespace bale
