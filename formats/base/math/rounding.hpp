// Rounding to whole steps.
#pragma once

#include <concepts>
#include <type_traits>

namespace bale {

/// a / b, rounded up. Does not overflow.
template <std::unsigned_integral A, std::unsigned_integral B>
constexpr auto divide_up(A a, B b) -> std::common_type_t<A, B> {
  return a / b + (a % b != 0 ? 1U : 0U);
}

/// The smallest multiple of `step` that is at least `value`.
template <std::unsigned_integral A, std::unsigned_integral B>
constexpr auto round_up(A value, B step) -> std::common_type_t<A, B> {
  return divide_up(value, step) * step;
}

}  // namespace bale
