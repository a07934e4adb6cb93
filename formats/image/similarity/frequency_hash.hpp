// FrequencyHash: 64 bits that images have almost in common if they look almost the same: the signs of the 64 lowest
// frequencies of a thumbprint.
//
// The idea is that of pHash (Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010). There
// are two differences. The cosines can be stretched over any window of the thumbprint, so hashes of parts of an image
// cost no further decoding. And the amplitudes are kept: a sign whose amplitude is small is the one that changes first.
//
// Threads: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/formats/image/similarity/thumbprint.hpp"

namespace bale {

inline constexpr unsigned k_hash_bits = 64;
/// Bits in a row that have low and high frequencies alike: a hash consists of four bands.
inline constexpr unsigned k_band_bits = 16;

struct FrequencyHash {
  std::uint64_t bits = 0;
  std::array<float, k_hash_bits> amplitudes{};  // not negative

  /// The hash of the image mirrored left to right: its odd horizontal frequencies change their signs.
  FrequencyHash mirrored() const;
  /// The share of the amplitudes whose bits differ from `other`'s, 0..1: 0 for the same bits.
  double distance(std::uint64_t other) const;
};

/// A set of windows of which hashes are made together.
class HashWindows {
 public:
  /// The whole image alone.
  HashWindows();
  /// The whole image first, then windows of 95, 90, 85 and 80% of its sides at nine places each.
  static HashWindows with_crops();

  std::size_t size() const { return windows_.size(); }
  const Window& operator[](std::size_t number) const { return windows_[number]; }
  /// Overwrites `out` with a hash for each window.
  void hash(const Thumbprint& print, std::vector<FrequencyHash>& out) const;

 private:
  static constexpr unsigned k_frequencies = 11;
  /// The mean of each cosine over each value of a side; 0 outside the window.
  using Cosines = std::array<std::array<float, k_thumbprint_side>, k_frequencies>;

  explicit HashWindows(std::vector<Window> windows);
  std::size_t side_number(double begin, double end);

  std::vector<Window> windows_;
  std::vector<std::pair<double, double>> sides_;               // begin and end, each once
  std::vector<Cosines> cosines_;                               // of those
  std::vector<std::pair<std::size_t, std::size_t>> sides_of_;  // of each window: those of its rows and columns
};

/// The hash of the whole image.
FrequencyHash hash_of(const Thumbprint& print);

}  // namespace bale
