// spare_images(): which images of groups of duplicates to leave out, so that one of each remains.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/tools/survey/duplicates/duplicates.hpp"

namespace bale {

/// Which image of a group is kept.
enum class KeepRule : std::uint8_t {
  first,     // in the order of the sources
  largest,   // the most pixels, then the most bytes, then the first
  smallest,  // the fewest bytes, then the first
};

/// What becomes of a group whose labels differ.
enum class ConflictRule : std::uint8_t {
  keep_one,  // as of any other
  keep_all,  // none is left out
  drop_all,  // all are left out: no label is to be trusted
};

struct SpareOptions {
  KeepRule keep = KeepRule::first;
  ConflictRule conflicts = ConflictRule::keep_one;
  /// Parts from this number on are kept whatever the rules say: images of earlier parts that are in them are left out.
  std::size_t first_kept_part = ~std::size_t{0};
};

struct SpareImage {
  std::uint64_t image = 0;
  std::uint64_t kept = 0;  // the image that stays in its place; itself if none does
  bool is_exact = false;   // both have the same bytes
};

/// Images to leave out, ascending. An image is left out only if it is itself the same as one that is kept: of a chain
/// in which each image looks like the next one, every second one may remain.
std::vector<SpareImage> spare_images(const Survey& survey, const Duplicates& duplicates, const SpareOptions& options);

}  // namespace bale
