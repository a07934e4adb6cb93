// Selection: the samples of an epoch, and how often each is delivered.
//
// Threads: an immutable value; const methods may be called by many threads at once. Copies are cheap and share memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bale/formats/base/cxx20.hpp"
#include "bale/reader/order/mixture.hpp"

namespace bale {

/// One delivery of a sample.
struct Pick {
  std::uint64_t sample = 0;  // position in the Dataset
  std::uint64_t copy = 0;    // distinguishes the deliveries of one sample in an epoch: 0, 1, ...; if the selection
                             // draws, the number of the draw
  // Of a mixture, whose sources are drawn for as if each was read alone: a pass is an epoch, and `copy` is 0.
  std::uint64_t source = 0;             // number of the source
  std::uint64_t first = 0;              // its first sample
  std::optional<std::uint64_t> pass{};  // over the source
  friend bool operator==(const Pick&, const Pick&) = default;
};

class Selection {
 public:
  /// Every sample of a dataset of `size` samples, once.
  static Selection all(std::uint64_t size);
  /// The listed samples of a dataset of `size` samples, in this order. A sample may be listed more than once. Blocks of
  /// a block shuffle are consecutive entries of the list: sort it for long reads. Throws `invalid_argument` if a sample
  /// is not below `size`.
  static Selection subset(std::vector<std::uint64_t> samples, std::uint64_t size);
  /// `num_draws` draws with replacement, sample i with probability weights[i] / sum, as torch's WeightedRandomSampler.
  /// O(1) per draw. Throws `invalid_argument` for negative, infinite or all-zero weights. Source: Walker's alias
  /// method.
  static Selection weighted(std::span<const double> weights, std::uint64_t num_draws);
  /// `num_draws` draws with replacement: first a class, each with the same probability, then a sample of that class.
  /// Samples without a label (k_no_label) are never drawn. Throws `invalid_argument` if no sample has a label.
  static Selection class_balanced(std::span<const std::int64_t> labels, std::uint64_t num_draws);
  /// Several sources, which a dataset of as many samples as all `sizes` has one after the other, each with its share of
  /// the deliveries: see Mixture, which says what is thrown. Each epoch continues where the one before ended.
  static Selection mixture(std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> shares,
                           MixtureOptions options = {});
  /// Delivers each sample of this selection `times` times per epoch (repeated augmentation). In the unshuffled order
  /// the copies follow each other, so a block of a block shuffle holds all of them. Throws `invalid_argument` for 0
  /// times, and if this selection draws: use more draws instead.
  Selection repeated(std::uint64_t times) const;

  /// The same deliveries in the order of the dataset. Throws `invalid_argument` if this selection draws.
  Selection sorted() const;

  /// Samples of the dataset that it was made for.
  std::uint64_t dataset_size() const;
  /// Deliveries per epoch.
  std::uint64_t size() const;
  /// The factor of repeated(), 1 without it.
  std::uint64_t times() const { return times_; }
  /// Largest number of times that an epoch can deliver one sample; size() if the selection draws.
  std::uint64_t max_deliveries() const;
  /// Whether what an epoch delivers depends on seed and epoch: this selection draws with replacement, or is a mixture.
  /// So a shuffle has no use.
  bool draws() const;
  /// Null unless this selection is a mixture(). Lives as long as any copy of it.
  const Mixture* mixture() const;
  /// Delivery number `item` in the unshuffled order. `seed` and `epoch` matter only if draws(). Precondition: item <
  /// size().
  Pick at(std::uint64_t item, std::uint64_t seed, std::uint64_t epoch) const;
  /// The deliveries of a sample in the unshuffled order, without copies of repeated(): at(n * times()) to at((n + 1) *
  /// times() - 1) deliver it for each n of the result. The first call for a subset() takes the time to sort it. Throws
  /// `invalid_argument` if draws().
  std::vector<std::uint64_t> deliveries_of(std::uint64_t sample) const;
  /// Number of deliveries of samples below `sample`, with copies. Preconditions: the selection does not draw and is in
  /// the order of the dataset (sorted()).
  std::uint64_t deliveries_below(std::uint64_t sample) const;
  /// A hash of the selection, by which a resumed run notices that the selection is another one.
  std::uint64_t fingerprint() const;

 private:
  struct Tables;
  explicit Selection(std::shared_ptr<const Tables> tables);
  std::shared_ptr<const Tables> tables_;
  std::uint64_t times_ = 1;
};

}  // namespace bale
