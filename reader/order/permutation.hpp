// Permutation: a keyed shuffle of [0, size) that is computed, not stored.
//
// Up to k_exact_size values it is a Fisher-Yates shuffle, which is exactly uniform. Above, it is a Feistel network over
// a domain slightly larger than `size`, repeated until the result is inside (Black and Rogaway, "Ciphers with arbitrary
// finite domains", CT-RSA 2002). It uses integers only, so it is the same on every machine. Values; safe in any thread.
#pragma once

#include <cstdint>

namespace bale {

class Permutation {
 public:
  static constexpr std::uint64_t k_exact_size = 32;

  Permutation(std::uint64_t size, std::uint64_t key);

  /// The place of `i` < size. Each value below size is the place of exactly one `i`.
  std::uint64_t at(std::uint64_t i) const;
  /// The `i` whose place is `place` < size.
  std::uint64_t inverse(std::uint64_t place) const;

 private:
  std::uint64_t shuffled(std::uint64_t i) const;
  std::uint64_t encrypted(std::uint64_t i) const;
  std::uint64_t decrypted(std::uint64_t place) const;
  std::uint64_t to_high(std::uint64_t low, std::uint64_t round_key) const;

  std::uint64_t size_;
  std::uint64_t key_;
  std::uint64_t num_high_ = 0;  // the domain has num_high_ * 2^low_bits_ values, both about the square root of size
  unsigned low_bits_ = 0;
  unsigned round_pairs_ = 0;
};

}  // namespace bale
