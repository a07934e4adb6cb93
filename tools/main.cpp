#include "bale/tools/cli/program.hpp"

int main(int argc, char** argv) { return bale::tools::run_program(argc, argv); }
