// Quarantine: copies of the files that could not be packed, in DATASET/quarantine under their own paths.
//
// A copy is complete and durable before it has its name, and it never takes the place of another file.
//
// Threads: add() may be called by many threads at once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bale/writer/source/source.hpp"

namespace bale {

inline constexpr std::string_view k_quarantine_name = "quarantine";

class Quarantine {
 public:
  /// Copies what can be read of `files` below `directory`, each by way of the temporary file `staged`. Returns the
  /// names of the copies relative to `directory`: "quarantine/cat/7.jpg". A file that cannot be opened has no copy; one
  /// that an earlier run copied is not copied again. Throws `io` if a copy cannot be written.
  std::vector<std::string> add(const std::string& directory, const std::vector<SourceFile>& files,
                               const std::string& staged);

 private:
  std::mutex naming_;  // between looking whether a name is free and taking it
};

}  // namespace bale
