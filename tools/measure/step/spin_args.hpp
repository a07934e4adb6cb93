// The arguments of the spin kernel: plain data with the same layout on host and device.
#pragma once

#include <cstdint>

namespace bale::cuda_detail {

struct SpinArgs {
  std::uint64_t nanoseconds = 0;
};

}  // namespace bale::cuda_detail
