#include "bale/tools/survey/duplicates/near_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/image/similarity/frequency_hash.hpp"

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

namespace {

constexpr std::size_t k_block_images = 256;
// Of 250 photographs none was this near to another, and all crops of 90% and larger were nearer.
constexpr double k_max_distance = 0.07;
// Before the edges are moved, which takes fifty comparisons.
constexpr double k_min_first_similarity = 0.7;
constexpr std::size_t k_max_compared = 64;
constexpr double k_min_budget = 1 << 17;

struct Candidate {
  std::uint32_t image = 0;
  std::uint32_t window = 0;
  double distance = 0;
  bool is_mirrored = false;
};

class Search {
 public:
  Search(std::span<const Thumbprint* const> prints, const NearOptions& options, Progress& progress)
      : prints_(prints),
        options_(options),
        progress_(progress),
        windows_(options.crops ? HashWindows::with_crops() : HashWindows()),
        index_(hashes_of(prints, options.jobs)) {}

  NearPairs run() {
    const std::size_t blocks = (prints_.size() + k_block_images - 1) / k_block_images;
    std::vector<NearPairs> found(blocks);
    run_parallel(blocks, options_.jobs, [&](std::size_t block) {
      const std::size_t end = std::min(prints_.size(), (block + 1) * k_block_images);
      for (std::size_t i = block * k_block_images; i < end; ++i) {
        progress_.throw_if_stopped();
        search(static_cast<std::uint32_t>(i), found[block]);
        ++progress_.samples;
      }
    });
    NearPairs all;
    for (const NearPairs& part : found) {
      all.pairs.insert(all.pairs.end(), part.pairs.begin(), part.pairs.end());
      all.num_cut += part.num_cut;
    }
    keep_best_of_each_pair(all.pairs);
    return all;
  }

 private:
  static std::vector<std::uint64_t> hashes_of(std::span<const Thumbprint* const> prints, unsigned jobs) {
    std::vector<std::uint64_t> hashes(prints.size());
    const std::size_t blocks = (prints.size() + k_block_images - 1) / k_block_images;
    run_parallel(blocks, jobs, [&](std::size_t block) {
      const std::size_t end = std::min(prints.size(), (block + 1) * k_block_images);
      for (std::size_t i = block * k_block_images; i < end; ++i) hashes[i] = hash_of(*prints[i]).bits;
    });
    return hashes;
  }

  void search(std::uint32_t whole, NearPairs& out) const {
    std::vector<FrequencyHash> hashes;
    windows_.hash(*prints_[whole], hashes);
    const double turns = options_.mirrored ? 2 : 1;
    const double usual = index_.mean_scanned() * static_cast<double>(windows_.size()) * turns;
    ScanBudget budget{.left = static_cast<std::uint64_t>(std::max(k_min_budget, 8 * usual))};
    std::vector<Candidate> candidates;
    for (std::uint32_t window = 0; window < hashes.size(); ++window) {
      for (const bool is_mirrored : {false, true}) {
        if (is_mirrored && !options_.mirrored) continue;
        const FrequencyHash hash = is_mirrored ? hashes[window].mirrored() : hashes[window];
        index_.find(hash, k_max_distance, budget, [&](std::uint32_t image, double distance) {
          if (image == whole) return;
          candidates.push_back({.image = image, .window = window, .distance = distance, .is_mirrored = is_mirrored});
        });
      }
    }
    const bool is_cut = keep_nearest(candidates) || budget.is_cut;
    if (is_cut) ++out.num_cut;
    for (const Candidate& candidate : candidates) compare(whole, candidate, out.pairs);
  }

  /// The best candidate of each image, and of those the nearest. Returns whether any image was left out.
  static bool keep_nearest(std::vector<Candidate>& candidates) {
    const auto by_image = [](const Candidate& a, const Candidate& b) {
      return std::tie(a.image, a.distance, a.window, a.is_mirrored) <
             std::tie(b.image, b.distance, b.window, b.is_mirrored);
    };
    std::sort(candidates.begin(), candidates.end(), by_image);
    const auto same_image = [](const Candidate& a, const Candidate& b) { return a.image == b.image; };
    candidates.erase(std::unique(candidates.begin(), candidates.end(), same_image), candidates.end());
    if (candidates.size() <= k_max_compared) return false;
    // Stable: of equally near ones the first images, so that groups of many images get a common member.
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
    candidates.resize(k_max_compared);
    return true;
  }

  void compare(std::uint32_t whole, const Candidate& candidate, std::vector<NearPair>& out) const {
    const Thumbprint& print = *prints_[whole];
    const Thumbprint& part = *prints_[candidate.image];
    const Window& window = windows_[candidate.window];
    Alignment alignment{.similarity = similarity_at(print, window, candidate.is_mirrored, part), .window = window};
    if (alignment.similarity < k_min_first_similarity) return;
    if (alignment.similarity < k_exact_enough) alignment = align(print, window, candidate.is_mirrored, part);
    if (alignment.similarity < options_.min_similarity) return;
    out.push_back({.whole = whole,
                   .part = candidate.image,
                   .similarity = alignment.similarity,
                   .window = alignment.window,
                   .is_mirrored = candidate.is_mirrored});
  }

  static void keep_best_of_each_pair(std::vector<NearPair>& pairs) {
    const auto images = [](const NearPair& pair) { return std::minmax(pair.whole, pair.part); };
    std::sort(pairs.begin(), pairs.end(), [&](const NearPair& a, const NearPair& b) {
      const auto left = images(a);
      const auto right = images(b);
      return left != right ? left < right : std::pair(b.similarity, a.whole) < std::pair(a.similarity, b.whole);
    });
    const auto same = [&](const NearPair& a, const NearPair& b) { return images(a) == images(b); };
    pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
  }

  static constexpr double k_exact_enough = 0.995;

  const std::span<const Thumbprint* const> prints_;
  const NearOptions options_;
  Progress& progress_;
  const HashWindows windows_;
  const HashIndex index_;
};

}  // namespace

NearPairs find_near_pairs(std::span<const Thumbprint* const> prints, const NearOptions& options, Progress& progress) {
  return Search(prints, options, progress).run();
}

}  // namespace bale
