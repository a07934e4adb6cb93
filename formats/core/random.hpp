// Keyed random numbers that are the same on every machine, compiler and library: orders, splits and
// shuffles must never depend on std::*_distribution, which differ between standard libraries.
//
// Source of the mixing: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014). Values: cheap to copy, no shared state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace bale {

inline std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class KeyedRandom {
 public:
  /// The same parts give the same sequence: KeyedRandom{seed, epoch, sample}.
  KeyedRandom(std::initializer_list<std::uint64_t> parts) {
    for (const std::uint64_t part : parts) state_ = mix64(state_ + k_golden_gamma + mix64(part + k_golden_gamma));
  }

  std::uint64_t next() {
    state_ += k_golden_gamma;
    return mix64(state_);
  }

  /// Uniform in [0, bound), without bias: multiply-shift with rejection (Lemire, "Fast random integer
  /// generation in an interval", TOMACS 2019). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    for (;;) {
      const auto product = static_cast<unsigned __int128>(next()) * bound;
      const auto low = static_cast<std::uint64_t>(product);
      if (low >= bound || low >= (0 - bound) % bound) return static_cast<std::uint64_t>(product >> 64);
    }
  }

  /// Uniform in [0, 1): a multiple of 2^-53, exact in every arithmetic.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Fisher-Yates over anything with size() and operator[].
  template <typename Sequence>
  void shuffle(Sequence& items) {
    for (std::uint64_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[below(left)]);
  }

 private:
  static constexpr std::uint64_t k_golden_gamma = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state_ = 0;
};

}  // namespace bale
