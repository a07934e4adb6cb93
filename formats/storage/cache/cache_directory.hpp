// CacheDirectory: the cache of remote files on a local disk, one for all processes of a node.
//
// Below DIRECTORY/bale-cache-1:
//   slots, usage, lock     of the processes that use it, and how full it is
//   names                  which names are being asked for (shared/file_lock.hpp)
//   orders                 when readers need what (entries/order_table.hpp)
//   files/HH/HASH.map      which units of a file are there (entries/unit_map.hpp)
//   files/HH/HASH.data     the units, at the places that they have in the file; the rest are holes
//   files/HH/HASH.url      what is known of a name: version and size (version_catalog.hpp)
//   files/HH/HASH.none     empty: the server did not have this name (version_catalog.hpp)
// Nothing of it has to be durable or consistent: each unit is compared with its checksum whenever it is read. So it may
// be killed at any moment, and removed while it is used. Only truncating its files while they are in use ends the
// process.
//
// The limit holds for all files and directories together, by their blocks on the disk. Space is reserved before
// anything is fetched; when there is none, content is removed (eviction.hpp).
//
// Threads and processes: any number of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/cache/entries/eviction.hpp"
#include "bale/formats/storage/cache/entries/order_table.hpp"
#include "bale/formats/storage/cache/entries/usage.hpp"
#include "bale/formats/storage/cache/shared/process_slots.hpp"

namespace bale {

class CacheDirectory {
 public:
  /// Makes the directory if there is none. Throws what prepare_cache() throws (cache_settings.hpp), `io` if there is no
  /// room for a cache or too many processes use it, and `invalid_argument` if the limit is below k_least_limit.
  /// If no other process uses it, the disk is counted. `is_managed`: also if it has very many files, which takes long;
  /// and no room is needed, since content is only listed, checked and removed.
  explicit CacheDirectory(const CacheSettings& settings, bool is_managed = false);
  /// Throws `invalid_argument` if the limit is below k_least_limit.
  static void check_limit(const CacheSettings& settings);
  /// The limit of a cache at `path`, which need not exist yet, if the settings have none.
  static std::uint64_t default_limit(const std::string& path, std::uint64_t used);
  ~CacheDirectory();
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;

  /// HASH of an identity.
  static std::string entry_of(std::string_view identity);
  /// Path of an entry: FILES/HH/HASH and `suffix`. Makes the directory HH.
  std::string path_of(std::string_view identity, std::string_view suffix);

  /// Takes `bytes` of the limit, and removes content if it must. Returns false if there is no room: the caller then
  /// does without the cache.
  bool reserve(std::uint64_t bytes);
  /// Gives back what was reserved and not used.
  void give_back(std::uint64_t bytes) { usage_.give_back(bytes); }
  /// What was reserved is on the disk now: it stays counted when the process ends.
  void stored(std::uint64_t bytes) { usage_.stored(bytes); }
  /// Content was removed from the disk.
  void removed(std::uint64_t bytes) { usage_.removed(bytes); }

  /// Removes content until at most `down_to` bytes are left, or what can be removed is.
  void trim(std::uint64_t down_to) { evict(down_to, down_to); }

  /// Held by the one process that removes content.
  class Removal;

  static Tick now();
  OrderTable& orders() { return orders_; }
  const ProcessSlots& slots() const { return slots_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes() const { return usage_.bytes(); }
  /// What can be reserved before content is removed.
  std::uint64_t free_bytes() const;
  const std::string& path() const { return path_; }
  std::string files() const;
  std::string lock_path() const;

  /// Stops using the disk after a write failed, in most cases because it is full. Reads continue.
  void set_full(const Error& failure);
  bool is_full() const { return is_full_; }

  static constexpr std::uint64_t k_least_limit = std::uint64_t{64} << 20;

 private:
  std::uint64_t capacity() const;
  void count(bool counts_all);
  void evict(std::uint64_t enough, std::uint64_t down_to);

  const std::string path_;
  std::uint64_t limit_bytes_;
  ProcessSlots slots_;
  CacheUsage usage_;
  OrderTable orders_;
  std::mutex evict_mutex_;
  std::atomic<bool> is_full_{false};
};

/// What a killed process leaves undone is known to the next one that removes something.
class CacheDirectory::Removal {
 public:
  /// Waits for the lock. Throws `io`.
  explicit Removal(CacheDirectory& cache);
  ~Removal() { usage_.end_removal(); }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

 private:
  const EvictionLock lock_;
  CacheUsage& usage_;
};

}  // namespace bale
