#include "bale/tools/cli/cli.hpp"

int main(int argc, char** argv) { return bale::tools::run_program(argc, argv); }
