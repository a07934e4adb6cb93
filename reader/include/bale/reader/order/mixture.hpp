// Mixture: which source each delivery is of, and which of its samples, as a pure function of the position.
//
// Deliveries are numbered across epochs. Of the first t * exact_every of them, each source has its share, less or more
// than one delivery at most. (If a share is less than one delivery per block, this holds after 2, 4, 8, ... blocks, in
// which it is one.) Inside a block, deliveries are split into halves again and again, each half with its share of every
// source, rounded at random. So the order is random, ranks that take every n-th delivery have equal shares of each
// source, and how many deliveries a source had before any position is known without counting them.
//
// A source's deliveries go through all its samples, in an order of its own, before any repeats: delivery k is of pass
// k / size. They do not depend on the shares, so with other shares each source continues where it was.
//
// Memory: 32 bytes per source. Time per position: O(sources * log(exact_every)).
// Threads: values; const methods may be called by many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

struct MixtureOptions {
  std::uint64_t epoch_samples = 0;  // deliveries per epoch; 0: the samples of all sources, rounded up to `together`
  std::uint64_t exact_every = 0;    // deliveries of a block; 0: 256, or 16 times `together`
  std::uint64_t together = 1;       // consecutive deliveries that are of one source; both numbers above are multiples
  std::vector<std::uint64_t> identities{};  // of the sources: parts of their orders' keys; empty: their numbers

  // A schedule that continues another one.
  std::uint64_t begin = 0;                 // deliveries before it, counted across epochs
  std::vector<std::uint64_t> delivered{};  // of these, the deliveries of each source; empty: 0
};

/// A source's share as text: a whole number ("7"), a decimal ("0.7", "7e-1") or a fraction ("7/10").
struct NamedShare {
  std::string source;
  std::string share;
};

/// The same shares as whole numbers without a common divisor. Decimals are read exactly: 0.7 and 0.3 are 7 and 3.
/// Throws `invalid_argument`, which names the source, for a share that is not a number, that is 0, negative or
/// infinite, and for shares that no 62 bits can tell apart.
std::vector<std::uint64_t> whole_shares(std::span<const NamedShare> shares);

class Mixture {
 public:
  /// `sizes`: samples of each source; the dataset has them one after the other. Throws `invalid_argument` if there is
  /// no source, if lists differ in length, for a source without samples, a share of 0, sizes or shares of 2^62 or more
  /// in total, a share below one in 2^30, numbers of deliveries that are not multiples of `together`, and blocks of
  /// more than 2^30.
  Mixture(std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> shares, MixtureOptions options);

  std::uint64_t epoch_samples() const { return options_.epoch_samples; }
  std::size_t num_sources() const { return shares_.size(); }
  /// Samples of all sources.
  std::uint64_t size() const { return ends_.back(); }
  std::uint64_t size_of(std::size_t source) const { return ends_[source] - first_of(source); }
  /// The first sample of a source.
  std::uint64_t first_of(std::size_t source) const { return source == 0 ? 0 : ends_[source - 1]; }
  /// The source of a sample of the dataset. Precondition: sample < size of the dataset.
  std::size_t source_of(std::uint64_t sample) const;

  struct Sample {
    std::uint64_t sample = 0;
    std::size_t source = 0;
    std::uint64_t first = 0;  // first_of(source)
    std::uint64_t pass = 0;   // number of passes over the source before
  };
  /// The sample at a position of an epoch. Of an epoch's number, counted_epoch() counts. Positions before `begin` are
  /// those of a schedule that had these shares from the beginning.
  Sample sample_at(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const;
  /// The first delivery of a sample after a position of an epoch, which is not before `begin`: its number, counted
  /// across epochs.
  std::uint64_t next_delivery(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                              std::uint64_t seed) const;
  /// Deliveries of each source before a position of an epoch, on all ranks.
  std::vector<std::uint64_t> delivered(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const;
  /// Largest number of times that an epoch can deliver one sample.
  std::uint64_t max_deliveries() const;
  /// All numbers that the order depends on, apart from the seed.
  std::vector<std::uint64_t> parts() const;

 private:
  struct Delivery {
    std::size_t source = 0;
    std::vector<std::uint64_t> before{};  // deliveries of each source
  };
  Delivery delivery_at(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const;
  std::vector<std::uint64_t> ends_at(std::uint64_t turns) const;
  std::uint64_t turns_of(std::size_t source, std::uint64_t turns) const;
  std::uint64_t number_of(std::size_t source, std::uint64_t delivery, std::uint64_t seed) const;
  std::uint64_t pass_key(std::size_t source, std::uint64_t pass, std::uint64_t seed) const;

  std::vector<std::uint64_t> ends_;    // of the sources, in the dataset
  std::vector<std::uint64_t> shares_;  // summed up to and including each source
  MixtureOptions options_;
  std::uint64_t
      root_;  // turns of `together` deliveries that are split; a block, unless a share is smaller than its part
};

}  // namespace bale
