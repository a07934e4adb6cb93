// A kernel that spins for a given time, in place of a training step: see dummy_step.hpp.
#include "bale/loader/cuda/kernels/kernel_entry.hpp"
#include "bale/tools/measure/step/spin_args.hpp"

namespace {

BALE_ON_DEVICE inline std::uint64_t now_ns() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

BALE_KERNEL bale_spin(const SpinArgs args) {
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < args.nanoseconds) {
  }
}
