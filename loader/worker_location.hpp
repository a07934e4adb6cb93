// Where the program bale-worker is installed.
//
// A project that uses find_package(bale) need not call this: the package compiles a file into the program that does.
#pragma once

#include <string>

namespace bale {

/// Names the directory of `bale-worker`. A Loader looks for it, in this order, in LoaderOptions::worker_program, in the
/// environment variable BALE_WORKER, beside this program, in ../libexec/bale from there, in `directory`, and where bale
/// was configured to be installed. Threads: call it before any Loader is made, from one thread.
void set_worker_directory(const std::string& directory);

}  // namespace bale
