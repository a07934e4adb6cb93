// find_duplicates(): groups of images of a Survey that are the same, by their bytes or by their looks.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/tools/survey/duplicates/near_pairs.hpp"
#include "bale/tools/survey/survey.hpp"

namespace bale {

/// At least two images. Each of them is the same as another one of the group, not necessarily as each other one.
struct DuplicateGroup {
  std::vector<std::uint64_t> images;  // ascending
  bool is_exact = true;               // all have the same bytes
  bool has_conflict = false;          // of their classes; an image without a label has none
  bool spans_parts = false;           // images of more than one part
  std::vector<NearPair> pairs{};      // between the first images of those with the same bytes
};

/// Images of one part that are in another, too.
struct Leak {
  std::size_t part = 0;
  std::size_t other = 0;
  std::uint64_t num_exact = 0;  // images of `part` whose bytes are in `other`
  std::uint64_t num_near = 0;   // more images of `part` that have a near duplicate there
};

struct Duplicates {
  std::vector<DuplicateGroup> groups;  // sorted by their first images
  std::vector<Leak> leaks;             // for each two parts that have some, both ways
  std::uint64_t num_exact = 0;         // images whose bytes an earlier image has
  std::uint64_t num_near = 0;          // other images that are in a group with an earlier one
  std::uint64_t num_conflicting = 0;   // groups
  std::uint64_t num_cut = 0;           // see NearPairs
  bool has_near = false;               // near duplicates were looked for
};

/// By bytes (XXH3-128 of the image field), and with `near` by looks, which needs Survey::thumbprints. Blank images are
/// compared by bytes only. Throws `interrupted`.
Duplicates find_duplicates(const Survey& survey, const NearOptions* near, Progress& progress);

}  // namespace bale
