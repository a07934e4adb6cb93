// Selection: which samples make up an epoch, and how often each occurs.
//
// Cheap to copy (tables are shared and immutable); safe in any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bale {

/// One delivery of a sample.
struct Pick {
  std::uint64_t sample = 0;  // position in the Dataset
  std::uint64_t copy = 0;    // tells the deliveries of one sample within an epoch apart: counted from 0, but where a
                             // selection draws the number of the draw

  friend bool operator==(const Pick&, const Pick&) = default;
};

class Selection {
 public:
  /// Every sample of a dataset of `size`, once.
  static Selection all(std::uint64_t size);
  /// The samples listed, in this order; one may be listed more than once. Blocks of a block shuffle are neighbours in
  /// the list: sort it for long reads. Throws `invalid_argument` for one that is not below `size`.
  static Selection subset(std::vector<std::uint64_t> samples, std::uint64_t size);
  /// `num_draws` draws with replacement, sample i with probability weights[i] / sum: torch's WeightedRandomSampler.
  /// Throws `invalid_argument` for negative, infinite or all-zero weights. Walker's alias method: O(1) a draw.
  static Selection weighted(std::span<const double> weights, std::uint64_t num_draws);
  /// `num_draws` draws with replacement: first a class, all alike, then a sample of it. Samples without a label
  /// (k_no_label) are never drawn. Throws `invalid_argument` where no sample has one.
  static Selection class_balanced(std::span<const std::int64_t> labels, std::uint64_t num_draws);
  /// Each delivery of this selection `times` times an epoch (repeated augmentation), its copies one after another in
  /// the unshuffled order, so that blocks of a block shuffle hold all of them. Throws `invalid_argument` for 0 and for
  /// a selection with replacement: ask that for more draws.
  Selection repeated(std::uint64_t times) const;

  /// Deliveries in an epoch.
  std::uint64_t size() const;
  /// How often repeated() makes each delivery; 1 without it.
  std::uint64_t times() const { return times_; }
  /// The most often that an epoch can deliver one sample: size() if the selection draws.
  std::uint64_t max_deliveries() const;
  /// With replacement: what at() gives is a draw, keyed by seed and epoch; shuffling it again is of no use.
  bool draws() const;
  /// The delivery numbered `item` < size(). `seed` and `epoch` matter only where draws().
  Pick at(std::uint64_t item, std::uint64_t seed, std::uint64_t epoch) const;
  /// Hash of what was selected, for resume to notice another one.
  std::uint64_t fingerprint() const;

 private:
  struct Tables;
  explicit Selection(std::shared_ptr<const Tables> tables);
  std::shared_ptr<const Tables> tables_;
  std::uint64_t times_ = 1;
};

}  // namespace bale
