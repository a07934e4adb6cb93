// EpochOrder: the order of an epoch, as a pure function from a position to a sample. Uses O(1) memory.
//
// The order does not depend on the number of ranks and workers, or on restarts; only Shuffle::node_local() depends on
// the number of nodes and ranks.
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/reader/order/node_parts.hpp"
#include "bale/reader/order/selection.hpp"

namespace bale {

struct Shuffle {
  enum class Kind : std::uint8_t { none, full, block, node_local, stream };

  Kind kind = Kind::full;
  std::uint64_t block_samples = 0;   // block: consecutive samples that are read together; copies are not counted
                                     // stream: times window_blocks, the samples that are shuffled with each other
  std::uint64_t window_blocks = 0;   // block: number of blocks whose samples are shuffled with each other
  std::uint64_t ranks_per_node = 0;  // node_local; 0: as the launcher says

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
  /// For several nodes with a cache each: every node has a part of the shards, the same in every epoch (NodeParts), and
  /// its ranks read a pseudorandom permutation of that part. The world size is a multiple of `ranks_per_node`; a
  /// launcher says it in $LOCAL_WORLD_SIZE.
  static Shuffle node_local(std::uint64_t ranks_per_node = 0) {
    return {.kind = Kind::node_local, .ranks_per_node = ranks_per_node};
  }
  /// For shards that have to be scanned (Counting::while_read): epoch 0 is in stored order, and each `block_samples` *
  /// `window_blocks` consecutive samples are shuffled with each other, as in a shuffle buffer. So it begins before the
  /// number of samples is known. Later epochs are full shuffles.
  static Shuffle stream(std::uint64_t block_samples = 64, std::uint64_t window_blocks = 16) {
    return {.kind = Kind::stream, .block_samples = block_samples, .window_blocks = window_blocks};
  }
  friend bool operator==(const Shuffle&, const Shuffle&) = default;
};

/// What counts of the number of an epoch: its lower 40 bits. Different upper bits are different epochs, with orders and
/// draws of their own: Python's Loader so tells passes apart that it makes while a training program stays in one epoch.
constexpr std::uint64_t counted_epoch(std::uint64_t epoch) { return epoch & ((std::uint64_t{1} << 40) - 1); }

class EpochOrder {
 public:
  /// If the selection draws, its order is random already, and `shuffle` is replaced by Shuffle::none(). Throws
  /// `invalid_argument` for a block shuffle or a stream with block_samples or window_blocks of 0, for a stream whose
  /// product of both is above 2^40, and for Shuffle::node_local().
  EpochOrder(Selection selection, const Shuffle& shuffle, std::uint64_t seed);
  /// A node-local order. `parts` are of the items of `selection`, which is in the order of the dataset
  /// (Selection::sorted()), and of the same seed. Throws `invalid_argument` if the selection draws, or if it has
  /// another size than `parts`.
  EpochOrder(Selection selection, NodeParts parts, std::uint64_t seed);

  /// Deliveries per epoch.
  std::uint64_t size() const { return selection_.size(); }
  /// The delivery at a position of an epoch. Precondition: position < size().
  Pick at(std::uint64_t epoch, std::uint64_t position) const;
  /// The position in an epoch of delivery number `item` of the unshuffled order: at(epoch, position_of(epoch, item)) is
  /// selection().at(item, seed(), epoch). O(1). Precondition: item < size().
  std::uint64_t position_of(std::uint64_t epoch, std::uint64_t item) const;
  /// How many samples must be known so that the first `positions` deliveries of the epoch are, for an order of a whole
  /// dataset that may turn out to be longer: they are the same then. nullopt: all samples.
  std::optional<std::uint64_t> samples_for(std::uint64_t epoch, std::uint64_t positions) const;
  /// With windows, the number of the window that the position is in; otherwise nullopt. The samples of a window
  /// are stored in few places, so it is best to read ahead one window at a time. Precondition: position < size().
  std::optional<std::uint64_t> window(std::uint64_t epoch, std::uint64_t position) const;
  /// The parts of the nodes; nullopt unless the order is node-local.
  const std::optional<NodeParts>& parts() const { return parts_; }
  /// A hash of selection, shuffle and seed, but not of the number of nodes and ranks: different orders have different
  /// hashes, except by chance.
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
  Shuffle::Kind kind_of(std::uint64_t epoch) const;
  std::uint64_t item_at(std::uint64_t epoch, std::uint64_t position) const;

  Selection selection_;
  Shuffle shuffle_;
  std::uint64_t seed_;
  std::optional<NodeParts> parts_{};
};

}  // namespace bale
