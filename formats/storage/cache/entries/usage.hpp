// CacheUsage: how many bytes of the cache's limit are taken. A file that all processes of the node map.
//
// Bytes are reserved by a process, then stored (they are on the disk) or given back. What a killed process had reserved
// is found again: each slot (process_slots.hpp) has the number of its own.
//
// Threads and processes: all functions may be called by any number of them at once, unless it says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/shared/process_slots.hpp"

namespace bale {

class CacheUsage {
 public:
  /// Opens the file `path`, which is made if there is none. Throws `io`. `slots` must outlive it.
  CacheUsage(const std::string& path, const ProcessSlots& slots);
  CacheUsage(const CacheUsage&) = delete;
  CacheUsage& operator=(const CacheUsage&) = delete;

  /// On the disk or reserved.
  std::uint64_t bytes() const;

  /// Returns bytes() after it.
  std::uint64_t reserve(std::uint64_t bytes);
  void give_back(std::uint64_t reserved_bytes);
  /// What was reserved is on the disk now.
  void stored(std::uint64_t reserved_bytes);
  /// Content comes to the disk that was not reserved, or is removed from it.
  void added(std::uint64_t bytes);
  void removed(std::uint64_t bytes);

  /// Marks the time in which content is removed: who is killed in it leaves the number wrong. For the holder of the
  /// lock of evictions, as is what follows.
  void begin_removal();
  void end_removal();

  /// Gives back what killed processes had reserved. Returns whether one was killed that had, or that was removing: then
  /// count_again() is due, and until end_removal() the next caller learns it, too.
  bool sweep();
  /// Sets bytes() to `on_disk()`, which counts, and what living processes have reserved.
  template <typename Count>
  void count_again(Count on_disk) {
    const HeldBytes held = held_now();
    correct(held, on_disk());
    set_counted();
  }
  /// The same. `on_disk()` may return nullopt: then bytes() stays as it is, and the result is false.
  template <typename Count>
  bool try_count_again(Count on_disk) {
    const HeldBytes held = held_now();
    const std::optional<std::uint64_t> bytes = on_disk();
    if (!bytes) return false;
    correct(held, *bytes);
    set_counted();
    return true;
  }
  /// Whether the disk was counted since the machine was started. A crash of the machine may leave an older number.
  bool is_counted() const;

 private:
  struct Layout;
  struct HeldBytes {
    std::uint64_t bytes = 0;     // on the disk or reserved
    std::uint64_t reserved = 0;  // of it
  };
  HeldBytes held_now() const;
  void correct(const HeldBytes& before, std::uint64_t on_disk);
  void set_counted();
  std::atomic<std::uint64_t>* own() const;

  const ProcessSlots& slots_;
  FileMapping mapping_;
  Layout* layout_;  // mapped
};

}  // namespace bale
