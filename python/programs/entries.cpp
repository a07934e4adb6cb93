// What bin/bale and bin/bale-worker of a wheel call in the module (launcher.c).
#include "bale/loader/worker/process/worker_process.hpp"
#include "bale/tools/cli/cli.hpp"

#define BALE_EXPORTED extern "C" __attribute__((visibility("default")))

BALE_EXPORTED int bale_program_main(int argc, char** argv) { return bale::tools::run_program(argc, argv); }

BALE_EXPORTED int bale_worker_main(int argc, char** argv) { return bale::loader_detail::worker_main(argc, argv); }
