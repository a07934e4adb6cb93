#include "bale/tools/cli/program.hpp"

#include <unistd.h>

#include "bale/reader/open_shards.hpp"
#include "bale/tools/cli/cli.hpp"
#include "bale/tools/terminal/signals.hpp"

int bale::tools::run_program(int argc, const char* const* argv) {
  prepare_process();
  raise_descriptor_limit();
  Terminal terminal(STDOUT_FILENO, STDERR_FILENO);
  return bale_main(argc, argv, terminal);
}
