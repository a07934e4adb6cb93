// SeekPointCache: seek points that workers make for images that have none next to their shard. They are kept in memory
// that all workers of a loader share, for later epochs.
//
// One store makes a complete record visible. A worker that dies before that store only wastes a few bytes. Decoders
// compare each record with the image, as they do with records from files.
#pragma once

#include <atomic>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"

namespace bale::loader_detail {

class SeekPointCache {
 public:
  /// A cache that keeps nothing.
  SeekPointCache() = default;
  /// `memory` must be zero at first, have bytes_for() bytes, and outlive the cache.
  SeekPointCache(MutableBytes memory, std::uint64_t num_samples);
  static std::uint64_t bytes_for(std::uint64_t num_samples, std::uint64_t record_bytes);

  /// The record of a sample; empty if there is none.
  Bytes record(std::uint64_t sample) const;
  /// Whether no worker has tried to make a record of the sample, and there is room for one.
  bool wants(std::uint64_t sample) const;
  /// Stores a record. An empty one means that no record can be made of the sample.
  void keep(std::uint64_t sample, Bytes record) const;

 private:
  std::atomic<std::uint64_t>& word(std::uint64_t number) const;

  std::byte* memory_ = nullptr;
  std::uint64_t num_samples_ = 0;
  Bytes records_{};
};

}  // namespace bale::loader_detail
