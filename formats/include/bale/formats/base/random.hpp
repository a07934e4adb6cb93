// KeyedRandom: random numbers that depend on a key alone and are the same on every machine, compiler and standard
// library. std::*_distribution differ between standard libraries, so orders and splits do not use them.
//
// Source: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
// Threads: a value without shared state; one object is used by one thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace bale {

/// SplitMix64's mixing function, a bijection.
inline std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class KeyedRandom {
 public:
  /// Equal parts give equal sequences: KeyedRandom{seed, epoch, sample}.
  KeyedRandom(std::initializer_list<std::uint64_t> parts) {
    for (const std::uint64_t part : parts) state_ = mix64(state_ + k_golden_gamma + mix64(part + k_golden_gamma));
  }

  /// Uniform over all 64-bit values.
  std::uint64_t next() {
    state_ += k_golden_gamma;
    return mix64(state_);
  }

  /// Uniform in [0, bound), without bias. Precondition: bound > 0. Source: multiply-shift with rejection (Lemire, "Fast
  /// random integer generation in an interval", TOMACS 2019).
  std::uint64_t below(std::uint64_t bound) {
    for (;;) {
      __extension__ typedef unsigned __int128 Product;  // -Wpedantic
      const Product product = static_cast<Product>(next()) * bound;
      const auto low = static_cast<std::uint64_t>(product);
      if (low >= bound || low >= (0 - bound) % bound) return static_cast<std::uint64_t>(product >> 64);
    }
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Fisher-Yates shuffle of anything with size() and operator[].
  template <typename Sequence>
  void shuffle(Sequence& items) {
    for (std::uint64_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[below(left)]);
  }

 private:
  static constexpr std::uint64_t k_golden_gamma = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state_ = 0;
};

}  // namespace bale
