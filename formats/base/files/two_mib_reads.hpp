// TwoMibReads: reads long ranges of a file into the page cache by transfers of 2 MiB.
//
// posix_fadvise reads into single pages, and a transfer takes no more pages than the device has segments (often 127 or
// 254): half a MiB or one. A disk that is limited in transfers per second is several times as fast with large
// transfers. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale {

class TwoMibReads {
 public:
  /// Throws what File::open_read() throws.
  explicit TwoMibReads(const std::string& path);

  /// Reads the range, extended to multiples of 2 MiB, and waits for it. False, with nothing or a part read, if the
  /// kernel or the file system does not support it; another way of reading is then needed.
  bool read(std::uint64_t offset, std::uint64_t length);

 private:
  void find_breaks();
  bool is_whole(std::uint64_t begin, std::uint64_t end) const;

  File file_;
  std::uint64_t file_bytes_ = 0;
  bool usable_ = true;
  std::vector<std::uint64_t> breaks_;  // ascending file offsets at which the file continues elsewhere on the disk
};

}  // namespace bale
