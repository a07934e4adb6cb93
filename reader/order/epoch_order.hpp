// EpochOrder: position in an epoch -> sample, a pure function in O(1) memory.
//
// The same for any world size, worker count and restart. Values; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/reader/order/selection.hpp"

namespace bale {

struct Shuffle {
  enum class Kind : std::uint8_t { none, full, block };

  Kind kind = Kind::full;
  std::uint64_t block_samples = 0;  // block: neighbours in the selection that are read together; copies not counted
  std::uint64_t window_blocks = 0;  // block: so many blocks, from all over the dataset, are mixed with each other

  /// The order of the dataset.
  static Shuffle none() { return {.kind = Kind::none}; }
  /// Every permutation of the epoch about as likely as any other.
  static Shuffle full() { return {}; }
  /// For cold and remote storage: blocks are permuted, then the samples of a window of blocks are shuffled with each
  /// other, so that reads are as long as a block. Holds back nothing: a reader needs one window's bytes at hand at
  /// most; with the defaults and ImageNet's images that is 112 MB, which fits what is read ahead by default.
  static Shuffle block(std::uint64_t block_samples = 64, std::uint64_t window_blocks = 16) {
    return {.kind = Kind::block, .block_samples = block_samples, .window_blocks = window_blocks};
  }
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

class EpochOrder {
 public:
  /// Throws `invalid_argument` for a block shuffle with blocks or windows of 0.
  /// A selection that draws is in random order as it is: `shuffle` is taken for none() then.
  EpochOrder(Selection selection, const Shuffle& shuffle, std::uint64_t seed);

  std::uint64_t size() const { return selection_.size(); }
  /// The delivery at `position` < size() of epoch `epoch`.
  Pick at(std::uint64_t epoch, std::uint64_t position) const;
  /// Block shuffle: which window of the epoch `position` is in. Samples of one window lie in few places, so whoever
  /// reads ahead does best to ask for a window at a time. Otherwise nullopt.
  std::optional<std::uint64_t> window(std::uint64_t epoch, std::uint64_t position) const;
  /// Hash of selection, shuffle and seed: two orders that agree in it are the same.
  std::uint64_t fingerprint() const;
  /// The same over a dataset of `dataset_size` samples: what states carried up to version 0.1.0.
  std::uint64_t fingerprint(std::uint64_t dataset_size) const;
  /// The same over a dataset of that size and identity (Dataset::identity()): what the states of all who resume carry.
  /// Below 2^63, so that tensors of signed integers can hold it.
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
