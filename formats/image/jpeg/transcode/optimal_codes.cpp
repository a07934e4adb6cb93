#include "bale/formats/image/jpeg/transcode/optimal_codes.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace bale::image_detail {
namespace {

constexpr std::size_t k_max_length = 16;
constexpr std::size_t k_max_unlimited = 32;
// One more symbol, counted once, gets the code of all ones, which no symbol may have.
constexpr std::uint32_t k_reserved = k_symbols;
constexpr std::size_t k_max_nodes = 2 * (k_symbols + 1) - 1;

/// A tree that is not joined to another one yet. Smaller ones are joined first.
struct Tree {
  std::uint64_t count = 0;
  std::uint32_t symbol = 0;  // of the tree that was the rarer one in each join
  std::uint32_t node = 0;

  bool operator>(const Tree& other) const { return count != other.count ? count > other.count : symbol < other.symbol; }
};

/// The length of each symbol's code, without a limit: T.81, figure K.1. 0 for those that were not counted.
std::array<std::uint32_t, k_symbols + 1> unlimited_lengths(std::span<const std::uint32_t, k_symbols> counts) {
  std::array<Tree, k_symbols + 1> trees;
  std::array<std::uint32_t, k_max_nodes> parents{};
  std::uint32_t num_trees = 0;
  for (std::uint32_t symbol = 0; symbol <= k_reserved; ++symbol) {
    const std::uint32_t count = symbol == k_reserved ? 1 : counts[symbol];
    if (count != 0) trees[num_trees++] = {count, symbol, symbol};
  }
  const auto begin = trees.begin();
  std::make_heap(begin, begin + num_trees, std::greater<>());
  const std::uint32_t first_inner = k_reserved + 1;
  std::uint32_t next_node = first_inner;
  for (; num_trees > 1; --num_trees) {
    std::pop_heap(begin, begin + num_trees, std::greater<>());
    const Tree rarest = trees[num_trees - 1];
    std::pop_heap(begin, begin + num_trees - 1, std::greater<>());
    Tree& joined = trees[num_trees - 2];
    parents[rarest.node] = parents[joined.node] = next_node;
    joined = {rarest.count + joined.count, rarest.symbol, next_node++};
    std::push_heap(begin, begin + num_trees - 1, std::greater<>());
  }
  // A node is made after its children, so lengths are found from the last one back.
  std::array<std::uint32_t, k_max_nodes> depths{};
  for (std::uint32_t node = next_node - 1; node-- > first_inner;) depths[node] = depths[parents[node]] + 1;
  std::array<std::uint32_t, k_symbols + 1> lengths{};
  for (std::uint32_t symbol = 0; symbol <= k_reserved; ++symbol) {
    if (parents[symbol] != 0) lengths[symbol] = depths[parents[symbol]] + 1;
  }
  return lengths;
}

/// T.81, figure K.3. `num_codes` is by length.
void limit_lengths(std::array<std::uint32_t, k_max_unlimited + 1>& num_codes) {
  for (std::size_t length = k_max_unlimited; length > k_max_length; --length) {
    while (num_codes[length] > 0) {
      std::size_t shorter = length - 2;
      while (num_codes[shorter] == 0) --shorter;
      num_codes[length] -= 2;
      ++num_codes[length - 1];
      num_codes[shorter + 1] += 2;
      --num_codes[shorter];
    }
  }
}

}  // namespace

bool OptimalCodes::build(std::span<const std::uint32_t, k_symbols> counts) {
  const auto unlimited = unlimited_lengths(counts);
  std::array<std::uint32_t, k_max_unlimited + 1> by_length{};
  for (const std::uint32_t length : unlimited) {
    if (length > k_max_unlimited) return false;
    ++by_length[length];
  }
  by_length[0] = 0;
  // Figure K.4: symbols by their lengths before the limit.
  num_symbols = 0;
  std::array<std::uint32_t, k_max_unlimited + 2> next{};
  for (std::size_t length = 1; length <= k_max_unlimited; ++length) next[length + 1] = next[length] + by_length[length];
  for (std::uint32_t symbol = 0; symbol < k_symbols; ++symbol) {
    if (unlimited[symbol] == 0) continue;
    symbols[next[unlimited[symbol]]++] = static_cast<std::uint8_t>(symbol);
    ++num_symbols;
  }
  limit_lengths(by_length);
  std::size_t longest = k_max_length;
  while (longest > 0 && by_length[longest] == 0) --longest;
  if (longest == 0) return false;
  --by_length[longest];  // the reserved symbol
  std::copy_n(by_length.begin(), num_codes.size(), num_codes.begin());
  assign_codes();
  return true;
}

void OptimalCodes::assign_codes() {
  lengths.fill(0);
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t length = 1; length <= k_max_length; ++length, code <<= 1) {
    for (std::uint32_t i = 0; i < num_codes[length]; ++i) {
      const std::uint8_t symbol = symbols[index++];
      codes[symbol] = static_cast<std::uint16_t>(code++);
      lengths[symbol] = static_cast<std::uint8_t>(length);
    }
  }
}

}  // namespace bale::image_detail
