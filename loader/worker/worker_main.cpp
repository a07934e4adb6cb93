// bale-worker: one worker of a loader. Only the loader starts it.
#include <cstdio>
#include <exception>

#include "bale/loader/worker/worker_process.hpp"

int main(int argc, char** argv) {
  try {
    const int code = bale::loader_detail::run_worker_process(argc, argv);
    if (code == 2) std::fputs("bale-worker is started by bale's loader, not by hand\n", stderr);
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bale-worker: %s\n", error.what());
    return 1;
  }
}
