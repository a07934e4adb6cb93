// InUse: keeps a shard open, or an index in memory.
//
// Threads: each thread has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "bale/formats/shard/shard.hpp"

namespace bale {

/// Do not hold it longer than its Dataset.
template <typename T>
class InUse {
 public:
  // What is never closed or dropped needs no owner, so its users are not counted.
  InUse() = default;
  explicit InUse(const T* used) : used_(used) {}
  explicit operator bool() const { return used_ != nullptr; }
  explicit InUse(std::shared_ptr<const T> owner) : used_(owner.get()), owner_(std::move(owner)) {}
  const T& operator*() const { return *used_; }
  const T* operator->() const { return used_; }
  /// Whether it may be closed or dropped after its last use.
  bool is_counted() const { return owner_ != nullptr; }

 private:
  const T* used_ = nullptr;
  std::shared_ptr<const T> owner_;
};

using ShardInUse = InUse<Shard>;
using IndexInUse = InUse<ShardIndex>;

/// Bytes of the indexes that one dataset keeps in memory, not counting those that are in use.
inline constexpr std::uint64_t k_index_budget = std::uint64_t{256} << 20;

}  // namespace bale
