// What a worker program does: attaches to the ring it was given and works until the loader is gone.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

/// The exit code of a worker that has run out of descriptors or memory, through no sample's fault.
inline constexpr int k_exit_lack_of_resources = 3;

/// The whole of bale-worker: its arguments (RING-DESCRIPTOR NUMBER PARENT-PID), its exit code. `before_shard` is called
/// before each row with its shard's number; it is there for tests that want a worker to fail.
int run_worker_process(int argc, char** argv, const std::function<void(std::uint32_t)>& before_shard = {});

}  // namespace bale::loader_detail
