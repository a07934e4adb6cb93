#include "bale/formats/shard/direct_fetch.hpp"

#include <utility>

namespace bale {
namespace {

constexpr std::uint64_t k_gap_bytes = std::uint64_t{16} << 10;  // to read this much more costs less than one more request

}  // namespace

void DirectFetch::fetch(const DirectFile& file) {
  runs_.clear();
  std::vector<FileRange> ranges = std::exchange(wanted_, {});
  merge_ranges(ranges, k_gap_bytes);
  std::uint64_t room = 0;
  for (const FileRange& range : ranges) {
    if (!is_tiny(range)) room += DirectFile::room_for(range);
  }
  std::byte* place = buffer_.at_least(room);
  try {
    for (const FileRange& range : ranges) {
      if (is_tiny(range)) continue;
      runs_.push_back({range, file.read_into(range, place)});
      place += DirectFile::room_for(range);
    }
  } catch (...) {
    runs_.clear();
    throw;
  }
  ranges.clear();
  wanted_ = std::move(ranges);  // its memory
}

Bytes DirectFetch::find(const FileRange& wanted) const {
  for (const Run& run : runs_) {
    if (wanted.offset < run.range.offset) continue;
    const std::uint64_t begin = wanted.offset - run.range.offset;
    if (begin <= run.range.length && wanted.length <= run.range.length - begin) {
      return run.bytes.subspan(begin, wanted.length);
    }
  }
  return {};
}

}  // namespace bale
