#include "bale/reader/order/epoch_order.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/permutation.hpp"

namespace bale {
namespace {

/// The use of a random number; part of its key.
enum Stream : std::uint64_t {
  k_full = 1,
  k_blocks = 2,
  k_short_block = 3,
  k_window = 4,
  k_node = 5,
  k_stream_window = 6
};

constexpr std::uint64_t k_max_window_samples = std::uint64_t{1} << 40;

std::uint64_t key_of(Stream stream, std::uint64_t seed, std::uint64_t epoch, std::uint64_t which = 0) {
  return KeyedRandom{stream, seed, epoch, which}.next();
}

/// The block shuffle of one epoch's items.
///
/// The full blocks are permuted. The short block, if there is one, is inserted at a random slot. So the place where
/// each slot begins is known without evaluating the permutation.
class BlockShuffle {
 public:
  BlockShuffle(std::uint64_t num_items, std::uint64_t block_items, std::uint64_t window_blocks, std::uint64_t seed,
               std::uint64_t epoch)
      : seed_(seed),
        epoch_(epoch),
        num_full_(num_items / block_items),
        block_(block_items),
        short_(num_items % block_items),
        num_slots_(num_full_ + (short_ > 0 ? 1 : 0)),
        window_(std::min(window_blocks, num_slots_)) {
    if (short_ > 0) {
      short_slot_ = KeyedRandom{k_short_block, seed, epoch}.below(num_slots_);
      missing_ = block_ - short_;
    }
  }

  std::uint64_t window(std::uint64_t position) const {
    const std::uint64_t window_items = window_ * block_;
    if (short_ == 0) return position / window_items;
    const std::uint64_t short_window = short_slot_ / window_;
    const std::uint64_t early = std::min(position / window_items, short_window);
    return position < end_of(early) ? early : (position + missing_) / window_items;
  }

  std::uint64_t item(std::uint64_t position) const {
    const std::uint64_t number = window(position);
    const std::uint64_t begin = begin_of(number * window_);
    const Permutation within(end_of(number) - begin, key_of(k_window, seed_, epoch_, number));
    const std::uint64_t place = begin + within.at(position - begin);  // in the order of slots
    const std::uint64_t short_begin = short_slot_ * block_;
    if (short_ == 0 || place < short_begin) return in_slot(place / block_, place % block_);
    if (place < short_begin + short_) return num_full_ * block_ + (place - short_begin);
    return in_slot((place + missing_) / block_, (place + missing_) % block_);
  }

  /// The inverse of item().
  std::uint64_t position(std::uint64_t item) const {
    const std::uint64_t place = place_of(item);
    const std::uint64_t number = window(place);  // windows begin at the same numbers among places and positions
    const std::uint64_t begin = begin_of(number * window_);
    return begin + Permutation(end_of(number) - begin, key_of(k_window, seed_, epoch_, number)).inverse(place - begin);
  }

 private:
  /// First place of a slot.
  std::uint64_t begin_of(std::uint64_t slot) const {
    return slot * block_ - (short_ > 0 && slot > short_slot_ ? missing_ : 0);
  }
  std::uint64_t end_of(std::uint64_t window) const { return begin_of(std::min((window + 1) * window_, num_slots_)); }

  /// The item's place in the order of slots.
  std::uint64_t place_of(std::uint64_t item) const {
    if (item >= num_full_ * block_) return short_slot_ * block_ + (item - num_full_ * block_);
    const std::uint64_t full_slot = Permutation(num_full_, key_of(k_blocks, seed_, epoch_)).inverse(item / block_);
    return begin_of(full_slot + (short_ > 0 && full_slot >= short_slot_ ? 1 : 0)) + item % block_;
  }

  /// Item number `offset` of the full block in `slot`.
  std::uint64_t in_slot(std::uint64_t slot, std::uint64_t offset) const {
    const std::uint64_t full_slot = slot - (short_ > 0 && slot > short_slot_ ? 1 : 0);
    return Permutation(num_full_, key_of(k_blocks, seed_, epoch_)).at(full_slot) * block_ + offset;
  }

  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t num_full_;
  std::uint64_t block_;
  std::uint64_t short_;  // items of the short block; 0 if all are full
  std::uint64_t num_slots_;
  std::uint64_t window_;  // slots per window
  std::uint64_t short_slot_ = 0;
  std::uint64_t missing_ = 0;  // items that the short block lacks
};

/// A block holds whole samples with all their copies, and is not larger than the epoch.
BlockShuffle block_shuffle(const Selection& selection, const Shuffle& shuffle, std::uint64_t seed,
                           std::uint64_t epoch) {
  const std::uint64_t samples = std::min(shuffle.block_samples, selection.size() / selection.times());
  return {selection.size(), samples * selection.times(), shuffle.window_blocks, seed, epoch};
}

/// The windows of a stream's first epoch: all are full, except the last.
class StreamShuffle {
 public:
  StreamShuffle(const Selection& selection, const Shuffle& shuffle, std::uint64_t seed)
      : size_(selection.size()),
        window_(shuffle.block_samples * shuffle.window_blocks * selection.times()),
        seed_(seed) {}

  std::uint64_t window_items() const { return window_; }
  std::uint64_t window(std::uint64_t position) const { return position / window_; }
  std::uint64_t item(std::uint64_t position) const {
    return begin_of(position) + permutation(position).at(position - begin_of(position));
  }
  /// The inverse of item().
  std::uint64_t position(std::uint64_t item) const {
    return begin_of(item) + permutation(item).inverse(item - begin_of(item));
  }

 private:
  std::uint64_t begin_of(std::uint64_t place) const { return place / window_ * window_; }
  Permutation permutation(std::uint64_t place) const {
    return {std::min(window_, size_ - begin_of(place)), key_of(k_stream_window, seed_, 0, window(place))};
  }

  std::uint64_t size_;
  std::uint64_t window_;
  std::uint64_t seed_;
};

bool has_windows(const Shuffle& shuffle) {
  return shuffle.kind == Shuffle::Kind::block || shuffle.kind == Shuffle::Kind::stream;
}

}  // namespace

EpochOrder::EpochOrder(Selection selection, const Shuffle& shuffle, std::uint64_t seed)
    : selection_(std::move(selection)), shuffle_(selection_.draws() ? Shuffle::none() : shuffle), seed_(seed) {
  if (shuffle.kind == Shuffle::Kind::node_local) {
    throw Error(ErrorCode::invalid_argument, "a node-local order needs the parts of the nodes, which a Loader makes",
                {.hint = "use a Loader, or another shuffle"});
  }
  if (shuffle.kind > Shuffle::Kind::stream) {
    throw Error(ErrorCode::invalid_argument, "shuffle is none of Shuffle::Kind");
  }
  if (!has_windows(shuffle)) return;
  if (shuffle.block_samples == 0 || shuffle.window_blocks == 0) {
    throw Error(ErrorCode::invalid_argument, "a block shuffle needs blocks and windows of 1 or more");
  }
  if (shuffle.kind == Shuffle::Kind::stream && shuffle.block_samples > k_max_window_samples / shuffle.window_blocks) {
    throw Error(ErrorCode::invalid_argument, "a shuffle with windows of more than 2^40 samples");
  }
}

EpochOrder::EpochOrder(Selection selection, NodeParts parts, std::uint64_t seed)
    : selection_(std::move(selection)),
      shuffle_(Shuffle::node_local(parts.nodes().ranks)),
      seed_(seed),
      parts_(std::move(parts)) {
  if (selection_.draws()) {
    throw Error(ErrorCode::invalid_argument,
                "a node-local order cannot draw samples with replacement, which takes them from all shards",
                {.hint = "leave out weights and classes, or use another shuffle"});
  }
  if (parts_->size() != selection_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("parts of {} deliveries for a selection of {}", parts_->size(), selection_.size()));
  }
}

Shuffle::Kind EpochOrder::kind_of(std::uint64_t epoch) const {
  return shuffle_.kind == Shuffle::Kind::stream && epoch > 0 ? Shuffle::Kind::full : shuffle_.kind;
}

Pick EpochOrder::at(std::uint64_t epoch, std::uint64_t position) const {
  return selection_.at(item_at(epoch, position), seed_, epoch);
}

std::uint64_t EpochOrder::item_at(std::uint64_t epoch, std::uint64_t position) const {
  switch (kind_of(epoch)) {
    case Shuffle::Kind::full:
      return Permutation(size(), key_of(k_full, seed_, epoch)).at(position);
    case Shuffle::Kind::block:
      return block_shuffle(selection_, shuffle_, seed_, epoch).item(position);
    case Shuffle::Kind::stream:
      return StreamShuffle(selection_, shuffle_, seed_).item(position);
    case Shuffle::Kind::node_local: {
      NodeParts::Place place = parts_->place(position);
      place.number =
          Permutation(parts_->size_of(place.node), key_of(k_node, seed_, epoch, place.node)).at(place.number);
      return parts_->item(place);
    }
    case Shuffle::Kind::none:
      break;
  }
  return position;
}

std::uint64_t EpochOrder::position_of(std::uint64_t epoch, std::uint64_t item) const {
  switch (kind_of(epoch)) {
    case Shuffle::Kind::full:
      return Permutation(size(), key_of(k_full, seed_, epoch)).inverse(item);
    case Shuffle::Kind::block:
      return block_shuffle(selection_, shuffle_, seed_, epoch).position(item);
    case Shuffle::Kind::node_local: {
      NodeParts::Place place = parts_->place_of(item);
      const Permutation within(parts_->size_of(place.node), key_of(k_node, seed_, epoch, place.node));
      place.number = within.inverse(place.number);
      return parts_->position(place);
    }
    case Shuffle::Kind::stream:
      return StreamShuffle(selection_, shuffle_, seed_).position(item);
    case Shuffle::Kind::none:
      break;
  }
  return item;
}

std::optional<std::uint64_t> EpochOrder::window(std::uint64_t epoch, std::uint64_t position) const {
  switch (kind_of(epoch)) {
    case Shuffle::Kind::block:
      return block_shuffle(selection_, shuffle_, seed_, epoch).window(position);
    case Shuffle::Kind::stream:
      return StreamShuffle(selection_, shuffle_, seed_).window(position);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> EpochOrder::samples_for(std::uint64_t epoch, std::uint64_t positions) const {
  if (selection_.draws()) return std::nullopt;
  const std::uint64_t times = selection_.times();
  switch (kind_of(epoch)) {
    case Shuffle::Kind::none:
      return divide_up(positions, times);
    case Shuffle::Kind::stream: {
      const std::uint64_t window = StreamShuffle(selection_, shuffle_, seed_).window_items();
      return divide_up(positions, window) * window / times;
    }
    default:
      return std::nullopt;
  }
}

std::uint64_t EpochOrder::fingerprint() const {
  const bool block = has_windows(shuffle_);
  return KeyedRandom{selection_.fingerprint(), static_cast<std::uint64_t>(shuffle_.kind),
                     block ? shuffle_.block_samples : 0, block ? shuffle_.window_blocks : 0, seed_}
      .next();
}

std::uint64_t EpochOrder::fingerprint(std::uint64_t dataset_size) const {
  return mix64(fingerprint() ^ mix64(dataset_size));
}

std::uint64_t EpochOrder::fingerprint(std::uint64_t dataset_size, std::uint64_t dataset_identity) const {
  return mix64(fingerprint(dataset_size) ^ mix64(dataset_identity)) >> 1;
}

}  // namespace bale
