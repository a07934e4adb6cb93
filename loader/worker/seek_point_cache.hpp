// SeekPointCache: seek points that workers make of images that have none beside their shard, in memory that all workers
// of a loader share, for its later epochs.
//
// A record becomes visible by one store, when it is whole. A worker that dies before leaves some bytes unused behind,
// and nothing else. Decoders compare each record with the image, as they do with those of files.
#pragma once

#include <atomic>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"

namespace bale::loader_detail {

class SeekPointCache {
 public:
  /// Keeps and gives nothing.
  SeekPointCache() = default;
  /// `memory` is zero at first, as large as bytes_for() says, and outlives this.
  SeekPointCache(MutableBytes memory, std::uint64_t num_samples);
  static std::uint64_t bytes_for(std::uint64_t num_samples, std::uint64_t record_bytes);

  /// The record of a sample; empty where there is none.
  Bytes record(std::uint64_t sample) const;
  /// Whether nobody has tried to make one, and there is room.
  bool wants(std::uint64_t sample) const;
  /// An empty record says that there can be none.
  void keep(std::uint64_t sample, Bytes record) const;

 private:
  std::atomic<std::uint64_t>& word(std::uint64_t number) const;

  std::byte* memory_ = nullptr;
  std::uint64_t num_samples_ = 0;
  Bytes records_{};
};

}  // namespace bale::loader_detail
