// What a cache has, and the removal of what is not needed for the longest time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/entries/order_table.hpp"
#include "bale/formats/storage/cache/entries/unit_map.hpp"
#include "bale/formats/storage/cache/shared/file_lock.hpp"

namespace bale {

/// Held by the one process that removes content.
class EvictionLock {
 public:
  /// Waits for the lock. Throws `io`.
  explicit EvictionLock(const std::string& path);

 private:
  FileLock file_;  // closing it releases the lock
};

/// Bytes on the disk of `directory` and all that is in it. Removes temporary files of killed processes.
std::uint64_t content_bytes(const std::string& directory);
/// The same; nullopt if more than `max_files` are in it.
std::optional<std::uint64_t> content_bytes(const std::string& directory, std::size_t max_files);

/// Removes the content of units that the caller has claimed, and gives up the claims. `data` is not open if the file is
/// gone. Returns the bytes that are free now.
std::uint64_t remove_claimed(UnitMap& map, const File& data, UnitRun claimed, std::uint32_t token);

/// Removes what killed processes had claimed below `files`, and may have written, and content without a map.
void remove_abandoned(const std::string& files, const ProcessSlots& slots);

/// Removes a map and its content, for good. Returns the bytes that they had on the disk.
std::uint64_t remove_entry(const std::string& map_path);

/// Removes content below `files` until `bytes` are free, first what is used farthest in the future (Belady, "A study of
/// replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966):
/// - What a reader said it will not use again goes first, the rest by the time until its next use (order_table.hpp).
/// - If that is not known, the next use is taken to be as far away as the last one is: an LRU order.
/// So content that is read through once does not displace what an epoch needs soon, and nothing stays forever.
///
/// Readers are not disturbed: what they have open stays readable, or is found missing and fetched again. `token` is the
/// caller's own (process_slots.hpp). Returns the number of bytes removed.
std::uint64_t evict(const std::string& files, std::uint64_t bytes, const OrderTable& orders, Tick now,
                    std::uint32_t token);

}  // namespace bale
