#include "bale/tools/survey/duplicates/duplicates.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace bale {
namespace {

/// Sets that are joined; each is named by its lowest number.
class DisjointSets {
 public:
  explicit DisjointSets(std::uint64_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0); }

  std::uint64_t find(std::uint64_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }

  void join(std::uint64_t a, std::uint64_t b) {
    a = find(a);
    b = find(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint64_t> parents_;
};

class Finder {
 public:
  explicit Finder(const Survey& survey) : survey_(survey), sets_(survey.images.size()), first_(survey.images.size()) {}

  void join_same_bytes() {
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < survey_.images.size(); ++i) {
      first_[i] = i;
      if (survey_.images[i].bytes > 0) order.push_back(i);
    }
    const auto digest = [&](std::uint64_t i) -> const Digest& { return survey_.images[i].digest; };
    std::sort(order.begin(), order.end(),
              [&](std::uint64_t a, std::uint64_t b) { return digest(a) != digest(b) ? digest(a) < digest(b) : a < b; });
    for (std::size_t at = 1; at < order.size(); ++at) {
      if (digest(order[at]) != digest(order[at - 1])) continue;
      first_[order[at]] = first_[order[at - 1]];
      sets_.join(first_[order[at]], order[at]);
      ++result_.num_exact;
    }
  }

  void join_near(const NearOptions& options, Progress& progress) {
    std::vector<const Thumbprint*> prints;
    std::vector<std::uint64_t> images;
    for (std::uint64_t i = 0; i < survey_.images.size(); ++i) {
      if (first_[i] != i || !survey_.images[i].has_hash()) continue;
      prints.push_back(&survey_.thumbprints[i]);
      images.push_back(i);
    }
    progress.total_samples = prints.size();
    NearPairs found = find_near_pairs(prints, options, progress);
    pairs_ = std::move(found.pairs);
    for (NearPair& pair : pairs_) {
      pair.whole = images[pair.whole];
      pair.part = images[pair.part];
      sets_.join(pair.whole, pair.part);
    }
    result_.num_cut = found.num_cut;
    result_.has_near = true;
  }

  Duplicates finish() {
    make_groups();
    count_leaks();
    for (const DuplicateGroup& group : result_.groups) {
      result_.num_conflicting += group.has_conflict ? 1 : 0;
      result_.num_near += group.images.size() - 1;
    }
    result_.num_near -= result_.num_exact;
    return std::move(result_);
  }

 private:
  void make_groups() {
    std::vector<std::uint32_t> sizes(survey_.images.size());
    for (std::uint64_t i = 0; i < survey_.images.size(); ++i) ++sizes[sets_.find(i)];
    std::map<std::uint64_t, std::size_t> numbers;
    for (std::uint64_t i = 0; i < survey_.images.size(); ++i) {
      const std::uint64_t set = sets_.find(i);
      if (sizes[set] < 2) continue;
      const auto [number, is_new] = numbers.emplace(set, result_.groups.size());
      if (is_new) result_.groups.emplace_back();
      add(i, result_.groups[number->second]);
    }
    for (const NearPair& pair : pairs_) result_.groups[numbers.at(sets_.find(pair.whole))].pairs.push_back(pair);
  }

  void add(std::uint64_t i, DuplicateGroup& group) const {
    if (!group.images.empty()) {
      const std::uint64_t other = group.images.front();
      group.is_exact = group.is_exact && first_[i] == first_[other];
      group.spans_parts = group.spans_parts || survey_.part_of(i) != survey_.part_of(other);
    }
    const std::uint32_t label = survey_.images[i].class_number;
    const auto is_other = [&](std::uint64_t image) {
      const std::uint32_t theirs = survey_.images[image].class_number;
      return theirs != label && theirs != k_no_class;
    };
    // One labeled image of each class would do; groups are small.
    if (label != k_no_class && !group.has_conflict) {
      group.has_conflict = std::any_of(group.images.begin(), group.images.end(), is_other);
    }
    group.images.push_back(i);
  }

  void count_leaks() {
    if (survey_.parts.size() < 2) return;
    std::map<std::pair<std::size_t, std::size_t>, Leak> leaks;
    for (const DuplicateGroup& group : result_.groups) {
      if (!group.spans_parts) continue;
      std::set<std::size_t> parts;
      std::set<std::pair<std::uint64_t, std::size_t>>
          bytes_in;  // first image with these bytes, and a part that has them
      for (const std::uint64_t image : group.images) {
        parts.insert(survey_.part_of(image));
        bytes_in.emplace(first_[image], survey_.part_of(image));
      }
      for (const std::uint64_t image : group.images) {
        for (const std::size_t other : parts) {
          const std::size_t part = survey_.part_of(image);
          if (other == part) continue;
          Leak& leak = leaks[{part, other}];
          leak.part = part;
          leak.other = other;
          ++(bytes_in.contains({first_[image], other}) ? leak.num_exact : leak.num_near);
        }
      }
    }
    for (const auto& [parts, leak] : leaks) result_.leaks.push_back(leak);
  }

  const Survey& survey_;
  DisjointSets sets_;
  std::vector<std::uint64_t> first_;  // of each image: the first with the same bytes
  std::vector<NearPair> pairs_;
  Duplicates result_;
};

}  // namespace

Duplicates find_duplicates(const Survey& survey, const NearOptions* near, Progress& progress) {
  Finder finder(survey);
  finder.join_same_bytes();
  if (near != nullptr) finder.join_near(*near, progress);
  return finder.finish();
}

}  // namespace bale
