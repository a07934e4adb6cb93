#include "bale/tools/survey/duplicates/spare_images.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace bale {
namespace {

class Chooser {
 public:
  Chooser(const Survey& survey, const SpareOptions& options) : survey_(survey), options_(options) {}

  void choose(const DuplicateGroup& group, std::vector<SpareImage>& out) const {
    const bool drops_all = group.has_conflict && options_.conflicts == ConflictRule::drop_all;
    if (group.has_conflict && options_.conflicts == ConflictRule::keep_all) return;
    std::vector<std::uint64_t> order = group.images;
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return rank(a) < rank(b); });
    const std::map<Digest, std::vector<Digest>> alike = neighbors(group);
    std::map<Digest, std::uint64_t> kept;  // image by its bytes
    for (const std::uint64_t image : order) {
      const Digest& digest = survey_.images[image].digest;
      if (drops_all && !is_kept_part(image)) {
        out.push_back({.image = image, .kept = image});
        continue;
      }
      const auto same = kept.find(digest);
      const auto near = same != kept.end() ? same : find_neighbor(digest, alike, kept);
      if (is_kept_part(image) || near == kept.end()) {
        kept.emplace(digest, image);
      } else {
        out.push_back({.image = image, .kept = near->second, .is_exact = same != kept.end()});
      }
    }
  }

 private:
  bool is_kept_part(std::uint64_t image) const { return survey_.part_of(image) >= options_.first_kept_part; }

  /// The lowest is kept first.
  std::tuple<bool, std::uint64_t, std::uint64_t> rank(std::uint64_t number) const {
    const SurveyedImage& image = survey_.images[number];
    const bool is_free = !is_kept_part(number);
    switch (options_.keep) {
      case KeepRule::first:
        return {is_free, 0, 0};
      case KeepRule::largest:
        return {is_free, ~(std::uint64_t{image.width} * image.height), ~image.bytes};
      case KeepRule::smallest:
        return {is_free, image.bytes, 0};
    }
    return {};
  }

  std::map<Digest, std::vector<Digest>> neighbors(const DuplicateGroup& group) const {
    std::map<Digest, std::vector<Digest>> alike;
    for (const NearPair& pair : group.pairs) {
      const Digest& a = survey_.images[pair.whole].digest;
      const Digest& b = survey_.images[pair.part].digest;
      alike[a].push_back(b);
      alike[b].push_back(a);
    }
    return alike;
  }

  static std::map<Digest, std::uint64_t>::const_iterator find_neighbor(
      const Digest& digest, const std::map<Digest, std::vector<Digest>>& alike,
      const std::map<Digest, std::uint64_t>& kept) {
    const auto others = alike.find(digest);
    if (others == alike.end()) return kept.end();
    for (const Digest& other : others->second) {
      const auto found = kept.find(other);
      if (found != kept.end()) return found;
    }
    return kept.end();
  }

  const Survey& survey_;
  const SpareOptions& options_;
};

}  // namespace

std::vector<SpareImage> spare_images(const Survey& survey, const Duplicates& duplicates, const SpareOptions& options) {
  const Chooser chooser(survey, options);
  std::vector<SpareImage> spare;
  for (const DuplicateGroup& group : duplicates.groups) chooser.choose(group, spare);
  std::sort(spare.begin(), spare.end(), [](const SpareImage& a, const SpareImage& b) { return a.image < b.image; });
  return spare;
}

}  // namespace bale
