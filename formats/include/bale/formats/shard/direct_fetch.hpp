// DirectFetch: bytes of one sample that were read around the page cache, in as few requests as possible.
//
// Ownership: what find() returns lives until the next fetch() or clear().
// Threads: used by one thread at a time.
#pragma once

#include <vector>

#include "bale/formats/base/aligned_buffer.hpp"
#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/direct_file.hpp"
#include "bale/formats/base/file_range.hpp"

namespace bale {

class DirectFetch {
 public:
  void clear() {
    wanted_.clear();
    runs_.clear();
  }
  /// Says that a range will be part of the next fetch().
  void want(const FileRange& range) { wanted_.push_back(range); }
  /// Forgets what it has, and reads the wanted ranges into memory of its own. Neighbors are one request. Tiny ranges
  /// without a neighbor, such as labels in a column of their own, are left out: a block of the page cache holds many of
  /// them. Throws what DirectFile::read_into() throws, with nothing fetched.
  void fetch(const DirectFile& file);
  static bool is_tiny(const FileRange& range) { return range.length <= k_tiny_bytes; }
  /// The bytes of a range that was fetched, else empty.
  Bytes find(const FileRange& range) const;

 private:
  static constexpr std::uint64_t k_tiny_bytes = 512;

  struct Run {
    FileRange range{};
    Bytes bytes{};
  };
  std::vector<FileRange> wanted_{};
  std::vector<Run> runs_{};
  AlignedBuffer buffer_{};
};

}  // namespace bale
