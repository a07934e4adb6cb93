// SameFunction: whether a function that we declare has the binary interface of the one that a header declares.
#pragma once

#include <type_traits>

namespace bale::test {

template <typename Ours, typename Theirs>
constexpr bool k_same_value = sizeof(Ours) == sizeof(Theirs) &&
                              std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
                                  std::is_floating_point_v<Theirs>;

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename OurResult, typename TheirResult, typename... Ours, typename... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct SameFunction<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<k_same_value<OurResult, TheirResult> && (k_same_value<Ours, Theirs> && ...)> {
};

static_assert(!SameFunction<int (*)(int), int (*)(long)>::value && !SameFunction<int (*)(int), int (*)()>::value);

}  // namespace bale::test
