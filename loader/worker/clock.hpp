// The clock of workers and their supervisor. It is the same in all processes of a machine.
#pragma once

#include <chrono>
#include <cstdint>

namespace bale::loader_detail {

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace bale::loader_detail
