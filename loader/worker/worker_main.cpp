// bale-worker: one worker of a loader, started by it and of no use otherwise.
//
//   bale-worker RING-DESCRIPTOR NUMBER PARENT-PID
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bale/formats/core/error.hpp"
#include "bale/loader/worker/worker.hpp"

namespace {

using namespace bale::loader_detail;

/// Ends with the loader, whatever ends that: by signal where the kernel sees it, else at the next look.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(0);
}

int work(const Ring& ring, std::uint32_t number, pid_t parent) {
  const WorkerConfig config = unpack_config(ring.config());
  if (!config.directory.empty() && ::chdir(config.directory.c_str()) != 0) {
    bale::throw_errno("enter", config.directory);
  }
  std::vector<std::unique_ptr<const bale::Shard>> shards(config.shards.size());
  const auto shard_of = [&](std::uint32_t shard) -> const bale::Shard& {
    if (!shards.at(shard)) {
      shards[shard] = std::make_unique<bale::Shard>(
          bale::Shard::open(config.shards[shard], {.verify_checksums = config.verify_checksums}));
    }
    return *shards[shard];
  };
  Worker worker(ring, config, number, shard_of);
  worker.run([&] { return ::getppid() == parent; });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("bale-worker is started by bale's loader, not by hand\n", stderr);
    return 2;
  }
  const auto parent = static_cast<pid_t>(std::atol(argv[3]));
  end_with(parent);
  // The terminal's Ctrl-C is the loader's to act upon.
  std::signal(SIGINT, SIG_IGN);
  // Image buffers come and go at every row; handing them back to the system each time costs more than the decode gains.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  const auto number = static_cast<std::uint32_t>(std::atol(argv[2]));
  try {
    const Ring ring = Ring::attach(SharedMemory::attach(std::atoi(argv[1])));
    try {
      return work(ring, number, parent);
    } catch (const std::exception& error) {
      std::strncpy(ring.worker(number).error, error.what(), k_error_bytes - 1);
      return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bale-worker: %s\n", error.what());
    return 1;
  }
}
