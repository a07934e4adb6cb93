// DirectFile: reads that go around the page cache (O_DIRECT), for data that will not be read again before memory is
// needed for something else. Safe in many threads at once; each has an aligned buffer of its own, which it keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/core/file.hpp"

namespace bale {

class DirectFile {
 public:
  /// nullopt where the file system has no such reads. Throws what File::open_read throws.
  static std::optional<DirectFile> open(const std::string& path);

  /// Fills `out` from `offset`; throws `damaged` where the file ends before.
  void read_exact(std::uint64_t offset, MutableBytes out) const;

 private:
  explicit DirectFile(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace bale
