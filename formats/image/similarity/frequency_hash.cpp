#include "bale/formats/image/similarity/frequency_hash.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace bale {
namespace {

struct Frequency {
  unsigned horizontal = 0;
  unsigned vertical = 0;
};

/// Of each bit. The lowest ones by their sum without the constant one, dealt out to the bands of a hash in turn, so
/// that each band has low and high ones.
constexpr std::array<Frequency, k_hash_bits> k_lowest = [] {
  constexpr std::size_t k_bands = k_hash_bits / k_band_bits;
  std::array<Frequency, k_hash_bits> lowest{};
  std::size_t count = 0;
  for (unsigned sum = 1; count < lowest.size(); ++sum) {
    for (unsigned horizontal = 0; horizontal <= sum && count < lowest.size(); ++horizontal, ++count) {
      lowest[count % k_bands * k_band_bits + count / k_bands] = {horizontal, sum - horizontal};
    }
  }
  return lowest;
}();

constexpr std::uint64_t k_odd_horizontal = [] {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < k_lowest.size(); ++i) mask |= std::uint64_t{k_lowest[i].horizontal & 1U} << i;
  return mask;
}();

}  // namespace

FrequencyHash FrequencyHash::mirrored() const {
  FrequencyHash other = *this;
  other.bits ^= k_odd_horizontal;
  return other;
}

double FrequencyHash::distance(std::uint64_t other) const {
  float total = 0;
  for (const float amplitude : amplitudes) total += amplitude;
  float differs = 0;
  for (std::uint64_t left = bits ^ other; left != 0; left &= left - 1) {
    differs += amplitudes[static_cast<std::size_t>(std::countr_zero(left))];
  }
  return total > 0 ? static_cast<double>(differs / total) : 1.0;
}

HashWindows::HashWindows() : HashWindows(std::vector<Window>{Window{}}) {}

HashWindows HashWindows::with_crops() {
  std::vector<Window> windows{Window{}};
  for (const double size : {0.95, 0.9, 0.85, 0.8}) {
    for (const double down : {0.0, 0.5, 1.0}) {
      for (const double across : {0.0, 0.5, 1.0}) {
        const double left = (1 - size) * across;
        const double top = (1 - size) * down;
        windows.push_back({.left = left, .top = top, .right = left + size, .bottom = top + size});
      }
    }
  }
  return HashWindows(std::move(windows));
}

HashWindows::HashWindows(std::vector<Window> windows) : windows_(std::move(windows)) {
  for (const Window& window : windows_) {
    const std::size_t rows = side_number(window.top, window.bottom);
    sides_of_.emplace_back(rows, side_number(window.left, window.right));
  }
}

std::size_t HashWindows::side_number(double begin, double end) {
  const auto found = std::find(sides_.begin(), sides_.end(), std::pair(begin, end));
  if (found != sides_.end()) return static_cast<std::size_t>(found - sides_.begin());
  Cosines cosines{};
  for (unsigned frequency = 0; frequency < k_frequencies; ++frequency) {
    const double turn = std::numbers::pi * frequency;
    for (unsigned i = 0; i < k_thumbprint_side; ++i) {
      const auto inside = [&](double at) {
        return std::clamp((at / k_thumbprint_side - begin) / (end - begin), 0.0, 1.0);
      };
      const double from = inside(i);
      const double to = inside(i + 1.0);
      cosines[frequency][i] =
          static_cast<float>(frequency == 0 ? to - from : (std::sin(turn * to) - std::sin(turn * from)) / turn);
    }
  }
  sides_.emplace_back(begin, end);
  cosines_.push_back(cosines);
  return sides_.size() - 1;
}

void HashWindows::hash(const Thumbprint& print, std::vector<FrequencyHash>& out) const {
  out.resize(windows_.size());
  using Rows = std::array<std::array<float, k_thumbprint_side>, k_frequencies>;  // vertical frequency, column
  std::vector<Rows> rows_of(sides_.size());
  std::vector<bool> is_made(sides_.size());
  for (std::size_t window = 0; window < windows_.size(); ++window) {
    const auto [vertical, horizontal] = sides_of_[window];
    Rows& rows = rows_of[vertical];
    if (!is_made[vertical]) {
      is_made[vertical] = true;
      rows = {};
      for (unsigned frequency = 0; frequency < k_frequencies; ++frequency) {
        for (unsigned y = 0; y < k_thumbprint_side; ++y) {
          const float cosine = cosines_[vertical][frequency][y];
          for (unsigned x = 0; x < k_thumbprint_side; ++x) {
            rows[frequency][x] += cosine * static_cast<float>(print.luma[y * k_thumbprint_side + x]);
          }
        }
      }
    }
    FrequencyHash& hash = out[window];
    hash.bits = 0;
    for (std::size_t bit = 0; bit < k_lowest.size(); ++bit) {
      const std::array<float, k_thumbprint_side>& row = rows[k_lowest[bit].vertical];
      const std::array<float, k_thumbprint_side>& cosines = cosines_[horizontal][k_lowest[bit].horizontal];
      float sum = 0;
      for (unsigned x = 0; x < k_thumbprint_side; ++x) sum += row[x] * cosines[x];
      hash.bits |= std::uint64_t{sum > 0} << bit;
      hash.amplitudes[bit] = std::abs(sum);
    }
  }
}

FrequencyHash hash_of(const Thumbprint& print) {
  static const HashWindows whole;
  std::vector<FrequencyHash> hashes;
  whole.hash(print, hashes);
  return hashes.front();
}

}  // namespace bale
