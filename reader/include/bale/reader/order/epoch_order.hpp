// EpochOrder: the order of an epoch, as a pure function from a position to a sample. Uses O(1) memory.
//
// The order does not depend on the number of ranks and workers, or on restarts.
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/reader/order/selection.hpp"

namespace bale {

struct Shuffle {
  enum class Kind : std::uint8_t { none, full, block };

  Kind kind = Kind::full;
  std::uint64_t block_samples = 0;  // block: consecutive samples that are read together; copies are not counted
  std::uint64_t window_blocks = 0;  // block: number of blocks whose samples are shuffled with each other

  /// The order of the selection.
  static Shuffle none() { return {.kind = Kind::none}; }
  /// A pseudorandom permutation of the whole epoch.
  static Shuffle full() { return {}; }
  /// For cold and remote storage: permutes blocks of `block_samples` consecutive samples, then shuffles the samples of
  /// every `window_blocks` blocks with each other. So each read is as long as a block. A reader needs at most one
  /// window in memory: with the defaults and ImageNet's images 112 MB, less than what is read ahead by default.
  static Shuffle block(std::uint64_t block_samples = 64, std::uint64_t window_blocks = 16) {
    return {.kind = Kind::block, .block_samples = block_samples, .window_blocks = window_blocks};
  }
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

class EpochOrder {
 public:
  /// If the selection draws, its order is random already, and `shuffle` is replaced by Shuffle::none(). Throws
  /// `invalid_argument` for a block shuffle with block_samples or window_blocks of 0.
  EpochOrder(Selection selection, const Shuffle& shuffle, std::uint64_t seed);

  /// Deliveries per epoch.
  std::uint64_t size() const { return selection_.size(); }
  /// The delivery at a position of an epoch. Precondition: position < size().
  Pick at(std::uint64_t epoch, std::uint64_t position) const;
  /// The position in an epoch of delivery number `item` of the unshuffled order: at(epoch, position_of(epoch, item)) is
  /// selection().at(item, seed(), epoch). O(1). Precondition: item < size().
  std::uint64_t position_of(std::uint64_t epoch, std::uint64_t item) const;
  /// With a block shuffle, the number of the window that the position is in; otherwise nullopt. The samples of a window
  /// are stored in few places, so it is best to read ahead one window at a time. Precondition: position < size().
  std::optional<std::uint64_t> window(std::uint64_t epoch, std::uint64_t position) const;
  /// A hash of selection, shuffle and seed: different orders have different hashes, except by chance.
  std::uint64_t fingerprint() const;
  /// The same with the size of the dataset. States up to version 0.1.0 have this one.
  std::uint64_t fingerprint(std::uint64_t dataset_size) const;
  /// The same with the size and identity of the dataset (Dataset::identity()). States have this one. Below 2^63, so
  /// that it fits a signed integer.
  std::uint64_t fingerprint(std::uint64_t dataset_size, std::uint64_t dataset_identity) const;
  const Shuffle& shuffle() const { return shuffle_; }
  std::uint64_t seed() const { return seed_; }
  const Selection& selection() const { return selection_; }

 private:
  Selection selection_;
  Shuffle shuffle_;
  std::uint64_t seed_;
};

}  // namespace bale
