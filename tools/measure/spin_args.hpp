// What the kernel that only takes time is given: plain data, laid out alike on the host and on the device.
#pragma once

#include <cstdint>

namespace bale::cuda_detail {

struct SpinArgs {
  std::uint64_t nanoseconds = 0;
};

}  // namespace bale::cuda_detail
