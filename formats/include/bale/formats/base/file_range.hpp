// FileRange: a range of bytes of a file.
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// Bytes [offset, offset + length) of a file.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  friend bool operator==(const FileRange&, const FileRange&) = default;
};

/// Sorts the ranges by offset and merges those that overlap, touch, or have at most `gap` bytes between them.
inline void merge_ranges(std::vector<FileRange>& ranges, std::uint64_t gap = 0) {
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) { return a.offset < b.offset; });
  std::size_t kept = 0;
  for (const FileRange& range : ranges) {
    if (kept > 0) {
      FileRange& last = ranges[kept - 1];
      if (range.offset - last.offset <= last.length || range.offset - last.offset - last.length <= gap) {
        last.length = std::max(last.length, range.offset - last.offset + range.length);
        continue;
      }
    }
    ranges[kept++] = range;
  }
  ranges.resize(kept);
}

}  // namespace bale
