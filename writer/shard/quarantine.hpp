// Quarantine: copies of the files that could not be packed, in DATASET/quarantine under their own paths.
//
// A copy is complete and durable before it gets its name. It never replaces another file.
//
// Threads: add() may be called by many threads at once.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bale/writer/source/source.hpp"

namespace bale {

class Quarantine {
 public:
  /// Copies the readable part of `files` below `directory`, each through the temporary file `staged`. Returns the names
  /// of the copies relative to `directory`: "quarantine/cat/7.jpg". A file that cannot be opened has no copy. A file
  /// that an earlier run copied is not copied again. Throws `io` if a copy cannot be written.
  std::vector<std::string> add(const std::string& directory, const std::vector<SourceFile>& files,
                               const std::string& staged);

 private:
  std::mutex naming_;  // held while a free name is found and taken
};

}  // namespace bale
