// bale-worker: one worker of a loader. Only the loader starts it.
#include "bale/loader/worker/process/worker_process.hpp"

int main(int argc, char** argv) { return bale::loader_detail::worker_main(argc, argv); }
