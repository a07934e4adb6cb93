// Held: what an object points to until it is moved from.
#pragma once

#include <utility>

#include "bale/formats/base/error.hpp"

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
