// SampleBuffers: memory of samples that waited, for samples that follow. To get new memory from the kernel takes as
// long as to copy samples into it.
//
// Threads: all methods may be called by many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bale {

class SampleBuffers {
 public:
  static constexpr std::size_t k_chunk_bytes = std::size_t{4} << 20;
  using Chunk = std::unique_ptr<std::byte[]>;  // k_chunk_bytes, not initialized

  /// Keeps up to `kept_bytes` that nobody uses.
  explicit SampleBuffers(std::uint64_t kept_bytes) : max_kept_(kept_bytes / k_chunk_bytes) { kept_.reserve(max_kept_); }

  Chunk take() {
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        Chunk chunk = std::move(kept_.back());
        kept_.pop_back();
        return chunk;
      }
    }
    return std::make_unique_for_overwrite<std::byte[]>(k_chunk_bytes);
  }

  void give_back(Chunk chunk) noexcept {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < max_kept_) kept_.push_back(std::move(chunk));
  }

 private:
  const std::size_t max_kept_;
  std::mutex mutex_;
  std::vector<Chunk> kept_;
};

}  // namespace bale
