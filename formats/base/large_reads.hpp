// LargeReads: brings long ranges of a file into the page cache by transfers of 2 MiB.
//
// What posix_fadvise asks for comes in single pages of memory, of which a transfer takes no more than the device has
// segments (often 127 or 254): half a MiB or one. A disk that is limited in transfers per second gives several times as
// much this way. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale {

class LargeReads {
 public:
  /// Throws what File::open_read throws.
  explicit LargeReads(const std::string& path);

  /// Reads the range, and what lies around it up to multiples of 2 MiB; waits for it. False, with nothing or a part
  /// read, where the kernel or the file system cannot: ask in another way then.
  bool read(std::uint64_t offset, std::uint64_t length);

 private:
  void find_breaks();
  bool is_whole(std::uint64_t begin, std::uint64_t end) const;

  File file_;
  std::uint64_t file_bytes_ = 0;
  bool usable_ = true;
  std::vector<std::uint64_t> breaks_;  // ascending offsets where the file goes on elsewhere on the disk
};

}  // namespace bale
