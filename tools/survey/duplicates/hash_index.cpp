#include "bale/tools/survey/duplicates/hash_index.hpp"

#include <algorithm>
#include <numeric>

namespace bale {
namespace {

constexpr std::uint32_t k_buckets = 1U << k_band_bits;

std::uint32_t bucket_of(std::uint64_t hash, unsigned band) {
  return static_cast<std::uint32_t>(hash >> (band * k_band_bits)) & (k_buckets - 1);
}

}  // namespace

HashIndex::HashIndex(std::span<const std::uint64_t> hashes) : size_(hashes.size()) {
  for (unsigned band = 0; band < k_bands; ++band) {
    Table& table = tables_[band];
    table.begins.assign(k_buckets + 1, 0);
    for (const std::uint64_t hash : hashes) ++table.begins[bucket_of(hash, band) + 1];
    std::partial_sum(table.begins.begin(), table.begins.end(), table.begins.begin());
    table.hashes.resize(hashes.size());
    table.numbers.resize(hashes.size());
    std::vector<std::uint32_t> next(table.begins.begin(), table.begins.end() - 1);
    for (std::size_t number = 0; number < hashes.size(); ++number) {
      const std::uint32_t at = next[bucket_of(hashes[number], band)]++;
      table.hashes[at] = hashes[number];
      table.numbers[at] = static_cast<std::uint32_t>(number);
    }
  }
}

double HashIndex::mean_scanned() const {
  return static_cast<double>(size_) * k_bands * (1U << k_weak_bits) / k_buckets;
}

std::array<std::uint32_t, 1U << HashIndex::k_weak_bits> HashIndex::probes(const FrequencyHash& query, unsigned band) {
  std::array<unsigned, k_band_bits> bits{};
  std::iota(bits.begin(), bits.end(), 0U);
  const float* const amplitudes = query.amplitudes.data() + band * k_band_bits;
  std::partial_sort(bits.begin(), bits.begin() + k_weak_bits, bits.end(),
                    [&](unsigned a, unsigned b) { return amplitudes[a] < amplitudes[b]; });
  std::array<std::uint32_t, 1U << k_weak_bits> probes{};
  const std::uint32_t own = bucket_of(query.bits, band);
  for (std::uint32_t subset = 0; subset < probes.size(); ++subset) {
    std::uint32_t flipped = 0;
    for (unsigned i = 0; i < k_weak_bits; ++i) flipped |= (subset >> i & 1U) << bits[i];
    probes[subset] = own ^ flipped;
  }
  return probes;
}

}  // namespace bale
