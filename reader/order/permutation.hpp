// Permutation: a keyed shuffle of [0, size) that is computed, not stored.
//
// Up to k_exact_size values it is a Fisher-Yates shuffle, so exactly uniform. Beyond, a Feistel network over a domain
// slightly larger than `size`, walked until it lands inside (Black and Rogaway, "Ciphers with arbitrary finite
// domains", CT-RSA 2002). Integers only: the same on every machine. Values; safe in any thread.
#pragma once

#include <cstdint>

namespace bale {

class Permutation {
 public:
  static constexpr std::uint64_t k_exact_size = 32;

  Permutation(std::uint64_t size, std::uint64_t key);

  /// Where `i` < size goes; every value below size has one `i`.
  std::uint64_t at(std::uint64_t i) const;

 private:
  std::uint64_t shuffled(std::uint64_t i) const;
  std::uint64_t encrypted(std::uint64_t i) const;

  std::uint64_t size_;
  std::uint64_t key_;
  std::uint64_t num_high_ = 0;  // the domain is num_high_ times 2^low_bits_ values, both about the root of size
  unsigned low_bits_ = 0;
  unsigned round_pairs_ = 0;
};

}  // namespace bale
