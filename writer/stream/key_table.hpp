// KeyTable: the hashes of all keys of a dataset, to notice a key that is used twice.
//
// An open-addressing table of 8-byte hashes, filled to at most 3/4. Up to k_memory_bytes it is in memory. A larger one
// is mapped from a file without a name, so that the kernel may write its pages out when memory is short.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/file.hpp"

namespace bale {

class KeyTable {
 public:
  static constexpr std::uint64_t k_memory_bytes = std::uint64_t{256} << 20;  // 25 million keys

  /// `directory` is for the file of a table of more than `memory_bytes`.
  explicit KeyTable(std::string directory, std::uint64_t memory_bytes = k_memory_bytes)
      : directory_(std::move(directory)), memory_bytes_(memory_bytes) {}
  ~KeyTable();
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  /// Whether a key with this hash was inserted: another key with the same hash, or this one.
  bool may_have(std::uint64_t hash) const;
  /// Throws `io` if there is no room for a larger table. The key was not inserted then.
  void insert(std::uint64_t hash);
  std::uint64_t size() const { return size_; }

 private:
  void grow();

  std::string directory_;
  std::uint64_t memory_bytes_;
  File file_;
  std::uint64_t* slots_ = nullptr;  // 0: free
  std::uint64_t num_slots_ = 0;     // a power of two, or 0
  std::uint64_t size_ = 0;
};

}  // namespace bale
