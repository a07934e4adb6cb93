// DirectFile: reads that bypass the page cache (O_DIRECT), for data that would be evicted before it is read again.
//
// Memory: each thread that reads keeps an aligned buffer as large as its largest read.
// Threads: const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"

namespace bale {

class DirectFile {
 public:
  /// nullopt if the file system does not support O_DIRECT. Throws what File::open_read() throws.
  static std::optional<DirectFile> open(const std::string& path);

  /// Fills `out` from `offset`, which need not be aligned. Throws `damaged` if the file ends earlier, and `io`.
  void read_exact(std::uint64_t offset, MutableBytes out) const;

 private:
  explicit DirectFile(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace bale
