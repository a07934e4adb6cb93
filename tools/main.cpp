#include <unistd.h>

#include "bale/reader/open_shards.hpp"
#include "bale/tools/cli/cli.hpp"
#include "bale/tools/terminal/signals.hpp"

int main(int argc, char** argv) {
  bale::tools::prepare_process();
  bale::raise_descriptor_limit();
  bale::tools::Terminal terminal(STDOUT_FILENO, STDERR_FILENO);
  return bale::tools::bale_main(argc, argv, terminal);
}
