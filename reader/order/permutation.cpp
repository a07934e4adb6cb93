#include "bale/reader/order/permutation.hpp"

#include <array>
#include <bit>
#include <numeric>

#include "bale/formats/base/random.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_round_step = 0x9E3779B97F4A7C15ULL;

// The structure that remains after r rounds falls about as root^(-r/2), so small domains need more rounds.
constexpr std::uint64_t k_small_size = 4096;
constexpr unsigned k_round_pairs_small = 6;
constexpr unsigned k_round_pairs = 4;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
  if (size <= k_exact_size) return;
  low_bits_ = static_cast<unsigned>(std::bit_width(size - 1)) / 2;
  num_high_ = ((size - 1) >> low_bits_) + 1;
  round_pairs_ = size < k_small_size ? k_round_pairs_small : k_round_pairs;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  if (size_ <= k_exact_size) return shuffled(i);
  std::uint64_t value = i;
  do {
    value = encrypted(value);
  } while (value >= size_);
  return value;
}

std::uint64_t Permutation::inverse(std::uint64_t place) const {
  if (size_ <= k_exact_size) {
    std::uint64_t i = 0;
    while (shuffled(i) != place) ++i;
    return i;
  }
  std::uint64_t value = place;
  do {
    value = decrypted(value);
  } while (value >= size_);
  return value;
}

/// Runs KeyedRandom::shuffle from the back, only as far as place `i` needs.
std::uint64_t Permutation::shuffled(std::uint64_t i) const {
  std::array<std::uint8_t, k_exact_size> items;
  std::iota(items.begin(), items.end(), std::uint8_t{0});
  KeyedRandom random{key_};
  for (std::uint64_t left = size_; left > i && left > 1; --left) std::swap(items[left - 1], items[random.below(left)]);
  return items[i];
}

/// What a round adds to the high part.
std::uint64_t Permutation::to_high(std::uint64_t low, std::uint64_t round_key) const {
  const std::uint64_t mixed = mix64(low ^ mix64(round_key));
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(mixed) * num_high_) >> 64);
}

std::uint64_t Permutation::encrypted(std::uint64_t i) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  std::uint64_t high = i >> low_bits_;
  std::uint64_t low = i & low_mask;
  std::uint64_t round_key = key_;
  for (unsigned round = 0; round < round_pairs_; ++round) {
    round_key += k_round_step;
    high += to_high(low, round_key);
    if (high >= num_high_) high -= num_high_;
    round_key += k_round_step;
    low = (low + mix64(high ^ mix64(round_key))) & low_mask;
  }
  return (high << low_bits_) | low;
}

/// The rounds of encrypted(), from the last to the first.
std::uint64_t Permutation::decrypted(std::uint64_t place) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  std::uint64_t high = place >> low_bits_;
  std::uint64_t low = place & low_mask;
  std::uint64_t round_key = key_ + 2 * round_pairs_ * k_round_step;
  for (unsigned round = 0; round < round_pairs_; ++round) {
    low = (low - mix64(high ^ mix64(round_key))) & low_mask;
    round_key -= k_round_step;
    const std::uint64_t added = to_high(low, round_key);
    high = high >= added ? high - added : high + num_high_ - added;
    round_key -= k_round_step;
  }
  return (high << low_bits_) | low;
}

}  // namespace bale
