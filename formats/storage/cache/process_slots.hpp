// ProcessSlots: tells which of the processes that use a cache are alive, so that another one carries on what a killed
// one had begun.
//
// A process holds a lock on one byte of a file for as long as it lives. The kernel releases it however the process ends.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bale/formats/base/file.hpp"

namespace bale {

class ProcessSlots {
 public:
  /// Takes a slot in the file `path`, which is made if there is none. Throws `io`.
  explicit ProcessSlots(const std::string& path);
  ~ProcessSlots();
  ProcessSlots(const ProcessSlots&) = delete;
  ProcessSlots& operator=(const ProcessSlots&) = delete;

  /// A number above 1 that no other process has had; 0 if all slots are taken.
  std::uint32_t token() const { return token_; }
  /// Whether the process with this token lives.
  bool is_alive(std::uint32_t token) const;
  /// Whether any process but this one lives.
  bool has_others() const;

 private:
  static constexpr std::uint32_t k_num_slots = 255;
  static constexpr std::uint32_t k_generation_bits = 23;

  bool lock(std::uint32_t slot);
  bool is_locked(std::uint32_t slot) const;

  File file_;
  std::atomic<std::uint32_t>* generations_ = nullptr;  // of each slot, mapped
  std::uint32_t slot_ = 0;
  std::uint32_t token_ = 0;
};

}  // namespace bale
