// find_near_pairs(): pairs of images that look the same, also if one of them is a part of the other.
//
// The hash of each image is in an index (hash_index.hpp). The hashes of an image and of its crops are looked up there,
// so an image is found whose whole is a crop of another. What the index finds is compared by its thumbprints:
// `min_similarity` decides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/similarity/thumbprint.hpp"

namespace bale {

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
