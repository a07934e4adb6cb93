// Huffman codes: the tables of T.81's procedure, however the counts are.
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::image_detail::k_symbols;
using bale::image_detail::OptimalCodes;
using Counts = std::array<std::uint32_t, k_symbols>;

struct Table {
  std::array<int, 17> num_codes{};
  std::vector<int> symbols{};
};

/// T.81, figures K.1 to K.4, step by step. nullopt if a length exceeds 32.
std::optional<Table> by_the_book(const Counts& counts) {
  std::array<std::int64_t, 257> frequencies{};
  std::copy(counts.begin(), counts.end(), frequencies.begin());
  frequencies[256] = 1;
  std::array<int, 257> sizes{};
  std::array<int, 257> others{};
  others.fill(-1);
  const auto rarest = [&](int except) {
    int found = -1;
    for (int i = 0; i <= 256; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i != except && frequencies[at] != 0 &&
          (found < 0 || frequencies[at] <= frequencies[static_cast<std::size_t>(found)])) {
        found = i;
      }
    }
    return found;
  };
  while (true) {
    int first = rarest(-1);
    int second = rarest(first);
    if (second < 0) break;
    frequencies[static_cast<std::size_t>(first)] += frequencies[static_cast<std::size_t>(second)];
    frequencies[static_cast<std::size_t>(second)] = 0;
    for (++sizes[static_cast<std::size_t>(first)]; others[static_cast<std::size_t>(first)] >= 0;) {
      first = others[static_cast<std::size_t>(first)];
      ++sizes[static_cast<std::size_t>(first)];
    }
    others[static_cast<std::size_t>(first)] = second;
    for (++sizes[static_cast<std::size_t>(second)]; others[static_cast<std::size_t>(second)] >= 0;) {
      second = others[static_cast<std::size_t>(second)];
      ++sizes[static_cast<std::size_t>(second)];
    }
  }
  std::array<int, 33> bits{};
  for (const int size : sizes) {
    if (size > 32) return std::nullopt;
    if (size > 0) ++bits[static_cast<std::size_t>(size)];
  }
  for (std::size_t i = 32; i > 16; --i) {
    while (bits[i] > 0) {
      std::size_t j = i - 2;
      while (bits[j] == 0) --j;
      bits[i] -= 2;
      ++bits[i - 1];
      bits[j + 1] += 2;
      --bits[j];
    }
  }
  std::size_t last = 16;
  while (bits[last] == 0) --last;
  --bits[last];
  Table table;
  std::copy_n(bits.begin(), 17, table.num_codes.begin());
  for (int size = 1; size <= 32; ++size) {
    for (int symbol = 0; symbol < 256; ++symbol) {
      if (sizes[static_cast<std::size_t>(symbol)] == size) table.symbols.push_back(symbol);
    }
  }
  return table;
}

bool matches(const Counts& counts) {
  const std::optional<Table> expected = by_the_book(counts);
  OptimalCodes codes;
  if (!codes.build(counts)) return !expected;
  return expected && std::equal(codes.num_codes.begin() + 1, codes.num_codes.end(), expected->num_codes.begin() + 1) &&
         std::equal(codes.symbols.begin(), codes.symbols.begin() + codes.num_symbols, expected->symbols.begin(),
                    expected->symbols.end());
}

}  // namespace

TEST_CASE("Huffman codes of any counts are those of T.81's procedure") {
  std::mt19937 random(1);
  int differences = 0;
  for (int round = 0; round < 2000; ++round) {
    Counts counts{};
    const std::uint32_t num_symbols = 1 + random() % 256;
    const std::uint32_t limit = 1 + (1U << random() % 20);  // small ones give many ties
    for (std::uint32_t n = 0; n < num_symbols; ++n) counts[random() % 256] = 1 + random() % limit;
    if (!matches(counts)) ++differences;
  }
  CHECK(differences == 0);
}

TEST_CASE("Huffman codes are limited to 16 bits, and refused if they would need more than 32") {
  int refused = 0;
  for (std::size_t num_symbols = 1; num_symbols <= 45; ++num_symbols) {
    Counts counts{};
    std::uint32_t before = 1;
    std::uint32_t now = 1;
    for (std::size_t n = 0; n < num_symbols; ++n) {  // Fibonacci's numbers give the longest codes
      counts[n] = now;
      now += std::exchange(before, now);
    }
    CHECK(matches(counts));
    OptimalCodes codes;
    if (!codes.build(counts)) {
      ++refused;
      continue;
    }
    CHECK(*std::ranges::max_element(codes.lengths) <= 16);
    // No code is a prefix of another one, nor all ones.
    std::uint32_t taken = 0;
    for (const std::uint8_t length : codes.lengths) taken += length == 0 ? 0 : 1U << (16 - length);
    CHECK(taken < 1U << 16);
  }
  CHECK(refused > 5);
  CHECK(refused < 20);
}

TEST_CASE("Nothing counted has no Huffman codes") { CHECK_FALSE(OptimalCodes().build(Counts{})); }
