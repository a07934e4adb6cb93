// What a cache has, and the removal of what was not used for the longest time.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/file.hpp"

namespace bale {

/// Held by the one process that removes content.
class EvictionLock {
 public:
  /// Waits for the lock. Throws `io`.
  explicit EvictionLock(const std::string& path);

 private:
  File file_;  // closing it releases the lock
};

/// Bytes on the disk of all entries below `files`. Removes temporary files of killed processes.
std::uint64_t content_bytes(const std::string& files);

/// Removes a map and its content, for good. Returns the bytes that they had on the disk.
std::uint64_t remove_entry(const std::string& map_path);

/// Removes content below `files` until `bytes` are free, the least recently used first. Readers are not disturbed: what
/// they have open stays readable, or is found missing and fetched again. `token` is the caller's own
/// (process_slots.hpp). Returns the number of bytes removed.
std::uint64_t evict_least_recently_used(const std::string& files, std::uint64_t bytes, std::uint32_t token);

}  // namespace bale
