#include <unistd.h>

#include "bale/tools/cli.hpp"
#include "bale/tools/signals.hpp"

int main(int argc, char** argv) {
  bale::tools::prepare_process();
  bale::tools::Terminal terminal(STDOUT_FILENO, STDERR_FILENO);
  return bale::tools::bale_main(argc, argv, terminal);
}
