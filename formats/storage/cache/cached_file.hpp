// CachedFile: the units of one version of a remote file that are in the cache.
//
// Threads and processes: any number of them. Errors: none of the disk's reaches the caller of read() and write(): what
// the cache cannot do, the caller does without it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/formats/storage/cache/entries/unit_map.hpp"

namespace bale {

class CachedFile {
 public:
  /// `identity` names file and version. What is damaged is made again. Throws `io` if the disk refuses; null if the map
  /// finds no room.
  static std::shared_ptr<CachedFile> open(std::shared_ptr<CacheDirectory> cache, const std::string& identity,
                                          std::uint64_t file_bytes);

  /// Fills `out` from `offset`; precondition: the range ends within the file. Returns false unless all of it is there
  /// and is what its checksums say; units that are not are dropped.
  bool read(std::uint64_t offset, MutableBytes out);
  bool has(UnitRun units) const { return map_.all_present(units); }
  std::uint64_t num_present(UnitRun units) const;
  UnitMap::Claims claim(UnitRun units) { return map_.claim(units, cache_->slots()); }
  /// Reserves room for claimed units. Returns false if there is none; the claims stay the caller's to release().
  bool reserve(UnitRun units) { return cache_->reserve(units.size() * k_unit_bytes); }
  /// Stores the content of claimed units. The parts follow each other from the first one's start, and each has whole
  /// units, but for the last of the file. Returns false if the disk is full.
  bool write(std::uint64_t first_unit, std::span<const Bytes> parts);
  /// Keeps the content from eviction while the result is open: the file in which each unit has its place. Throws `io`.
  File pin() const;
  /// Gives up claims that were not written, and the room that was reserved for them.
  void release(UnitRun units, bool is_reserved);

  /// Notes the next use of those units that are present. If another use is known that comes sooner, it stays.
  void will_use(UnitRun units, const NextUse& use);

  /// Makes the units absent, whatever they hold.
  void forget(UnitRun units);

  std::uint32_t progress() const { return map_.progress(); }
  void wait(std::uint32_t seen, int timeout_ms) const { map_.wait(seen, timeout_ms); }
  CacheDirectory& cache() { return *cache_; }

 private:
  static std::shared_ptr<CachedFile> open_whole(std::shared_ptr<CacheDirectory> cache, const std::string& identity,
                                                std::uint64_t file_bytes);
  CachedFile(std::shared_ptr<CacheDirectory> cache, const std::string& identity, std::uint64_t file_bytes);

  std::shared_ptr<CacheDirectory> cache_;
  UnitMap map_;
  File data_;
};

}  // namespace bale
