// The permutation behind every shuffle: that it is one, and that it is as good as random.
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "bale/reader/order/permutation.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

std::vector<std::uint64_t> values(std::uint64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<std::uint64_t> result(size);
  for (std::uint64_t i = 0; i < size; ++i) result[i] = permutation.at(i);
  return result;
}

/// Distance of chi-square from its mean in standard deviations, for counts that should all be `expected`.
double excess(const std::vector<std::uint64_t>& counts, double expected, double freedom) {
  double chi_square = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi_square += off * off / expected;
  }
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("a permutation gives every value once", "[order]") {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    std::vector<std::uint64_t> sorted = values(size, size * 7919);
    std::sort(sorted.begin(), sorted.end());
    for (std::uint64_t i = 0; i < size; ++i) REQUIRE(sorted[i] == i);
  }
  for (const std::uint64_t size : {4095, 4096, 4097, 65535, 65537, 100000, 131072}) {
    std::vector<bool> seen(size);
    for (const std::uint64_t value : values(size, 5)) {
      REQUIRE(value < size);
      REQUIRE_FALSE(seen[value]);
      seen[value] = true;
    }
  }
}

TEST_CASE("a permutation is inverted", "[order]") {
  const auto check = [](std::uint64_t size, std::uint64_t key, std::uint64_t step) {
    CAPTURE(size, key);
    const Permutation permutation(size, key);
    for (std::uint64_t i = 0; i < size && i < step * 5000; i += step)
      REQUIRE(permutation.inverse(permutation.at(i)) == i);
    REQUIRE(permutation.inverse(permutation.at(size - 1)) == size - 1);
  };
  for (std::uint64_t size = 1; size <= 300; ++size) check(size, size * 104729, 1);
  for (const std::uint64_t size : {4095, 4096, 4097, 65535, 65537, 1281167}) check(size, 11, size / 2000);
  for (const std::uint64_t size : {(std::uint64_t{1} << 63) + 12345, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    check(size, 3, size / 2000);
  }
}

TEST_CASE("a permutation of a size beyond memory stays inside and apart", "[order]") {
  for (const std::uint64_t size : {(std::uint64_t{1} << 63) + 12345, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    const Permutation permutation(size, 3);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t value = permutation.at(i % 2 == 0 ? i : size - i);
      REQUIRE(value < size);
      REQUIRE(seen.insert(value).second);
    }
  }
}

TEST_CASE("orders of two to five values are equally frequent", "[order]") {
  constexpr std::uint64_t k_per_order = 500;
  for (std::uint64_t size = 2; size <= 5; ++size) {
    std::uint64_t orders = 1;
    for (std::uint64_t i = 2; i <= size; ++i) orders *= i;
    std::map<std::vector<std::uint64_t>, std::uint64_t> found;
    for (std::uint64_t key = 0; key < k_per_order * orders; ++key) ++found[values(size, key)];
    REQUIRE(found.size() == orders);
    std::vector<std::uint64_t> counts;
    for (const auto& [order, count] : found) counts.push_back(count);
    CHECK(std::abs(excess(counts, k_per_order, static_cast<double>(orders - 1))) < 4);
  }
}

TEST_CASE("every value is at every position equally often", "[order]") {
  // 33 and 50 are networks on the smallest domains, 32 the last exact shuffle.
  for (const std::uint64_t size : {7, 32, 33, 50, 101}) {
    const std::uint64_t keys = 400 * size;
    std::vector<std::uint64_t> counts(size * size);
    for (std::uint64_t key = 0; key < keys; ++key) {
      const Permutation permutation(size, key);
      for (std::uint64_t i = 0; i < size; ++i) ++counts[i * size + permutation.at(i)];
    }
    const auto freedom = static_cast<double>((size - 1) * (size - 1));
    CHECK(std::abs(excess(counts, 400, freedom)) < 4);
  }
}

TEST_CASE("where one value goes says nothing of where the next one goes", "[order]") {
  constexpr std::uint64_t k_per_pair = 100;
  for (const std::uint64_t size : {33, 40, 64}) {
    const std::uint64_t pairs = size * (size - 1);
    for (const std::uint64_t distance : {std::uint64_t{1}, std::uint64_t{8}, size / 2}) {
      std::vector<std::uint64_t> counts(size * size);
      for (std::uint64_t key = 0; key < k_per_pair * pairs; ++key) {
        const Permutation permutation(size, key + 1000000);
        ++counts[permutation.at(3) * size + permutation.at(3 + distance)];
      }
      std::vector<std::uint64_t> possible;
      for (std::uint64_t cell = 0; cell < counts.size(); ++cell) {
        if (cell / size != cell % size) possible.push_back(counts[cell]);
      }
      CHECK(std::abs(excess(possible, k_per_pair, static_cast<double>(pairs - 1))) < 4);
    }
  }
}

TEST_CASE("neighbors do not stay neighbors and nothing stays in place more often than chance", "[order]") {
  constexpr std::uint64_t k_keys = 200;
  for (const std::uint64_t size : {1000, 4096, 10007}) {
    std::uint64_t adjacent = 0;
    std::uint64_t fixed = 0;
    std::uint64_t rising = 0;
    for (std::uint64_t key = 0; key < k_keys; ++key) {
      const std::vector<std::uint64_t> order = values(size, key);
      for (std::uint64_t i = 0; i < size; ++i) {
        fixed += order[i] == i ? 1 : 0;
        if (i == 0) continue;
        rising += order[i] > order[i - 1] ? 1 : 0;
        adjacent += order[i] == order[i - 1] + 1 ? 1 : 0;
      }
    }
    // Means 200, 200 and half of all; about five standard deviations either side.
    CHECK(adjacent > 130);
    CHECK(adjacent < 270);
    CHECK(fixed > 130);
    CHECK(fixed < 270);
    const double steps = static_cast<double>(k_keys * (size - 1));
    CHECK(std::abs(static_cast<double>(rising) - steps / 2) < 5 * std::sqrt(steps / 12));
  }
}

TEST_CASE("one other bit of the key gives an unrelated permutation", "[order]") {
  constexpr std::uint64_t k_size = 5000;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const Permutation one(k_size, 42);
    const Permutation other(k_size, 42 ^ (std::uint64_t{1} << bit));
    std::uint64_t same = 0;
    for (std::uint64_t i = 0; i < k_size; ++i) same += one.at(i) == other.at(i) ? 1 : 0;
    CHECK(same < 12);  // one on average
  }
}

}  // namespace bale
