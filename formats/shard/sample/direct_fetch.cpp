#include "bale/formats/shard/direct_fetch.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_gap_bytes = std::uint64_t{16} << 10;  // to read them costs less than one more request

}  // namespace

void DirectFetch::fetch(const DirectFile& file) {
  runs_.clear();
  merge_ranges(wanted_, k_gap_bytes);
  std::uint64_t room = 0;
  for (const FileRange& range : wanted_) {
    if (!is_tiny(range)) room += DirectFile::room_for(range);
  }
  try {
    std::byte* place = buffer_.at_least(room);
    for (const FileRange& range : wanted_) {
      if (is_tiny(range)) continue;
      runs_.push_back({range, file.read_into(range, place)});
      place += DirectFile::room_for(range);
    }
  } catch (...) {
    clear();
    throw;
  }
  wanted_.clear();
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
