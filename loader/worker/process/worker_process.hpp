// The worker program: attaches to the ring that it was given and works until the loader stops it or ends.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

/// The exit code of a worker that has run out of descriptors or memory. No sample is at fault.
inline constexpr int k_exit_lack_of_resources = 3;

/// What bale-worker does. Arguments: RING-DESCRIPTOR NUMBER PARENT-PID. Returns the exit code. Tests use
/// `before_shard` to make a worker fail: it is called with the shard's number before each row.
int run_worker_process(int argc, char** argv, const std::function<void(std::uint32_t)>& before_shard = {});

/// The main function of bale-worker: the same, with exceptions and wrong arguments reported on standard error.
int worker_main(int argc, char** argv);

}  // namespace bale::loader_detail
