// Reads and writes whole files as strings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale::test {

inline std::string slurp(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return std::string(as_text(bytes));
}

/// Creates a new file each time: ext4 writes a file to disk at once when its content is replaced.
inline void spit(const std::string& path, std::string_view bytes) {
  File file = File::create(path);
  file.write_at(0, as_bytes(bytes));
  file.close();
}

}  // namespace bale::test
