// The directory in which bale-worker is installed.
//
// A project that uses find_package(bale) need not call this: the package compiles a file into the program that does.
//
// Threads: not thread-safe. Call it from one thread, before any Loader is made.
#pragma once

#include <string>

namespace bale {

/// Sets the directory of `bale-worker`. A Loader uses LoaderOptions::worker_program if it is not empty, else the
/// environment variable BALE_WORKER if it is set. Otherwise it takes the first that exists: next to this program, in
/// ../libexec/bale relative to this program, in `directory`, where bale was configured to be installed.
void set_worker_directory(const std::string& directory);

}  // namespace bale
