// How much the kernel reads ahead for one request, and a way to longer requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
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

// Copies that some CPUs do at a quarter of their speed, and memory for a way around them.
//
// The kernel copies from files to memory by `rep movsb`. On AMD's Zen 3 and Zen 4 that takes four to five times as long
// if the destination lies a few bytes further on in its page than the source in its own: up to 31 bytes on Zen 3
// (measured: 110 KB in 55 us instead of 13), up to 63 with wider vectors. Source: glibc bug 30994. By chance it happens
// in one copy of
// 65. It always happens if a buffer begins 16 bytes into a page, as large ones of malloc() do, and what is read begins
// a page of its file. It never happens to a read with O_DIRECT, whose ends are both multiples of 512.

/// Whether the copy of `size` bytes at `offset` of a file to `to` can be such a copy.
inline bool copies_slowly(std::uint64_t offset, const void* to, std::size_t size) {
  constexpr std::uint64_t k_vector_bytes = 64;
  const std::uint64_t ahead = (reinterpret_cast<std::uintptr_t>(to) - offset) % k_page_bytes;
  return size >= k_page_bytes && ahead != 0 && ahead < k_vector_bytes;
}

/// Memory between the ends of such a copy, so small that it stays in the nearest cache.
class Detour {
 public:
  static constexpr std::size_t k_bytes = std::size_t{16} << 10;

  /// k_bytes, not initialized, half a page away from both ends.
  MutableBytes beside(std::uint64_t offset) {
    return MutableBytes(room_).subspan((offset + k_page_bytes / 2) % k_page_bytes, k_bytes);
  }

 private:
  alignas(k_page_bytes) std::array<std::byte, k_bytes + k_page_bytes> room_;
};

}  // namespace bale
