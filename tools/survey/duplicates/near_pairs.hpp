// find_near_pairs(): pairs of images that look the same, also if one of them is a part of the other.
//
// The hash of each image is in an index (HashIndex). The hashes of an image and of its crops are looked up there,
// so an image is found whose whole is a crop of another. What the index finds is compared by its thumbprints:
// `min_similarity` decides.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/similarity/frequency_hash.hpp"
#include "bale/formats/image/similarity/thumbprint.hpp"

namespace bale {

/// How many hashes a caller is willing to look at.
struct ScanBudget {
  std::uint64_t left = 0;
  bool is_cut = false;  // it was not enough: some hashes were not looked at
};

/// Finds hashes that differ in few bits, without comparing each with each.
///
/// A hash is cut into four bands of 16 bits. Each band has a table of 65,536 buckets. A query looks into the buckets of
/// its own bands, and into those that differ in the bits whose amplitudes are smallest, since those change first.
/// Sources: multi-index hashing (Norouzi, Punjani, Fleet, "Fast Search in Hamming Space", CVPR 2012); probing by
/// amplitude (Lv et al., "Multi-Probe LSH", VLDB 2007).
///
/// Memory: 48 bytes per hash.
/// Threads: const methods may be called by many threads at once.
class HashIndex {
 public:
  /// At most 2^32 - 1 hashes.
  explicit HashIndex(std::span<const std::uint64_t> hashes);

  /// Calls `found(number, distance)` for hashes whose FrequencyHash::distance() from `query` is at most `max_distance`.
  /// A number may come once per band. Misses hashes of which each band differs in a bit that is not among the band's
  /// four weakest.
  template <typename Found>
  void find(const FrequencyHash& query, double max_distance, ScanBudget& budget, const Found& found) const {
    for (unsigned band = 0; band < k_bands; ++band) {
      const Table& table = tables_[band];
      for (const std::uint32_t bucket : probes(query, band)) {
        const std::uint64_t begin = table.begins[bucket];
        std::uint64_t count = table.begins[bucket + 1] - begin;
        if (count > budget.left) {
          budget.is_cut = true;
          count = budget.left;
        }
        budget.left -= count;
        for (std::uint64_t at = begin; at < begin + count; ++at) {
          const std::uint64_t hash = table.hashes[at];
          if (std::popcount(query.bits ^ hash) > k_max_differing) continue;
          const double distance = query.distance(hash);
          if (distance <= max_distance) found(table.numbers[at], distance);
        }
      }
    }
  }

  /// The number of hashes that a query looks at on average, if they are evenly spread.
  double mean_scanned() const;

 private:
  static constexpr unsigned k_bands = k_hash_bits / k_band_bits;
  static constexpr unsigned k_weak_bits = 4;
  static constexpr int k_max_differing = 18;  // of random hashes 0.03% differ in this many bits or fewer
  struct Table {
    std::vector<std::uint32_t> begins;  // of each bucket
    std::vector<std::uint64_t> hashes;  // bucket after bucket
    std::vector<std::uint32_t> numbers;
  };

  static std::array<std::uint32_t, 1U << k_weak_bits> probes(const FrequencyHash& query, unsigned band);

  std::size_t size_ = 0;
  std::array<Table, k_bands> tables_;
};

struct NearOptions {
  /// Correlation of two thumbprints, after one of them was moved and scaled to fit, from which on images are
  /// duplicates, 0..1.
  double min_similarity = 0.92;
  bool crops = true;      // find images that are a part, of at least about 80% of the sides, of another
  bool mirrored = false;  // find images that are mirrored left to right
  unsigned jobs = 0;      // threads; 0: one per core
};

/// `part` looks like `window` of `whole`.
struct NearPair {
  std::uint64_t whole = 0;
  std::uint64_t part = 0;
  double similarity = 0;
  Window window{};
  bool is_mirrored = false;
};

struct NearPairs {
  std::vector<NearPair> pairs;  // sorted by their images, the lower number first; each pair once
  std::uint64_t num_cut = 0;    // images that resemble so many others that not all of them were compared
};

/// `prints` are images with contrast. `progress` counts them as samples. Throws `interrupted`. Memory: 56 bytes per
/// image.
NearPairs find_near_pairs(std::span<const Thumbprint* const> prints, const NearOptions& options, Progress& progress);

}  // namespace bale
