// ProcessSlots: tells which of the processes that use a cache are alive, so that another one carries on what a killed
// one had begun.
//
// A process holds a lock on one byte of a file for as long as it lives. The kernel releases it however the process
// ends.
//
// Threads: const methods may be called by many threads at once. Processes: a child of fork() takes a slot of its own
// when it first asks for one.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/shared/file_lock.hpp"

namespace bale {

class ProcessSlots {
 public:
  static constexpr std::uint32_t k_num_slots = 255;

  /// Takes a slot in the file `path`, which is made if there is none. Throws `io`.
  explicit ProcessSlots(const std::string& path);
  ProcessSlots(const ProcessSlots&) = delete;
  ProcessSlots& operator=(const ProcessSlots&) = delete;

  /// A number above 1 that no other process has had; 0 if all slots are taken.
  std::uint32_t token() const { return own().token; }
  /// The slot of a token, below k_num_slots if there is such a slot.
  static std::uint32_t slot_of(std::uint32_t token) { return (token >> k_generation_bits) - 1; }
  /// Whether the process with this token lives.
  bool is_alive(std::uint32_t token) const;
  /// Whether any process but this one lives.
  bool has_others() const;

 private:
  static constexpr std::uint32_t k_generation_bits = 23;

  struct OwnSlot {
    FileLock file;
    std::uint32_t token = 0;
  };
  const OwnSlot& own() const;
  void take(File file) const;
  static bool lock(int fd, std::uint32_t slot);
  bool is_locked(std::uint32_t slot) const;

  const std::string path_;
  FileMapping mapping_;
  std::atomic<std::uint32_t>* generations_;  // of each slot, mapped
  mutable OwnSlot own_;
  mutable std::atomic<pid_t> owner_{0};  // of `own_`
};

}  // namespace bale
