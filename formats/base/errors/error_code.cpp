#include "bale/formats/base/error_code.hpp"

#include <array>
#include <cstddef>

namespace bale {
namespace {

constexpr std::array<Verdict, 10> k_verdicts{{
    {ErrorCode::invalid_argument, "invalid_argument", k_exit_usage, "ArgumentError"},
    {ErrorCode::not_found, "not_found", k_exit_failure, "PathNotFoundError"},
    {ErrorCode::io, "io", k_exit_failure, "Error"},
    {ErrorCode::damaged, "damaged", k_exit_failure, "DamagedError"},
    {ErrorCode::unsupported, "unsupported", k_exit_failure, "UnsupportedError"},
    {ErrorCode::exists, "exists", k_exit_failure, "Error"},
    {ErrorCode::changed, "changed", k_exit_failure, "ChangedError"},
    {ErrorCode::retryable, "retryable", k_exit_retryable, "RetryableError"},
    {ErrorCode::interrupted, "interrupted", k_exit_interrupted, "Error"},
    {ErrorCode::out_of_memory, "out_of_memory", k_exit_failure, "OutOfMemoryError"},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < k_verdicts.size(); ++i) {
    if (k_verdicts[i].code != static_cast<ErrorCode>(i)) return false;
  }
  return k_verdicts.back().code == ErrorCode::out_of_memory;
}
static_assert(is_in_order());

}  // namespace

std::span<const Verdict> verdicts() { return k_verdicts; }

const Verdict& verdict_of(ErrorCode code) { return k_verdicts[static_cast<std::size_t>(code)]; }

}  // namespace bale
