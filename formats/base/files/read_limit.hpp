// How much the kernel reads ahead for one request, and a way to longer requests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale {

inline constexpr std::uint64_t k_page_bytes = 4096;  // the smallest page size; larger ones are multiples of it

/// A range up to this size is requested at once, without looking up the device's limit.
inline constexpr std::uint64_t k_least_read_limit = std::uint64_t{128} << 10;

/// How much of a file to request from the kernel at a time, a multiple of k_page_bytes. The kernel drops the rest of a
/// larger request (beyond the device's read-ahead and its largest transfer: Linux, mm/readahead.c,
/// force_page_cache_ra), or splits it into two transfers of different size if it has more pages than the device has
/// segments. Safe in any thread.
std::uint64_t read_limit(int fd);

// How much of some files is in the page cache.

struct SizedFile {
  std::string path;
  std::uint64_t bytes = 0;
};

/// An estimate of the part of the files' bytes that is in the page cache, from 0 to 1, by reading a few bytes without
/// waiting for the disk. nullopt if that is not supported, or a file cannot be read. Takes less than a millisecond for
/// local files.
std::optional<double> cached_part(std::span<const SizedFile> files);

// TwoMibReads: reads long ranges of a file into the page cache by transfers of 2 MiB.
//
// posix_fadvise reads into single pages, and a transfer takes no more pages than the device has segments (often 127 or
// 254): half a MiB or one. A disk that is limited in transfers per second is several times as fast with large
// transfers. For one thread.

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
