// ImageConditions: which images of a dataset no loader takes, according to its indexes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/image/image.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

struct ImageConditions {
  struct Unusable {
    std::string path;  // of the shard
    std::string key;
    ImageCondition condition = ImageCondition::unknown;  // if neither incomplete nor undecodable: above the limit
    std::uint32_t width = 0;
    std::uint32_t height = 0;
  };

  std::uint64_t num_complete = 0;
  std::uint64_t num_incomplete = 0;
  std::uint64_t num_undecodable = 0;
  std::uint64_t num_unknown = 0;      // not examined, of a kind that is not decoded, or samples without an image
  std::uint64_t num_above_limit = 0;  // of the complete and unknown ones, those with more pixels than `max_pixels`
  std::uint64_t max_pixels = k_default_max_pixels;
  std::vector<Unusable> unusable{};  // the first ones that no loader takes

  std::uint64_t num_unusable() const { return num_incomplete + num_undecodable + num_above_limit; }
};

/// Counts the images by condition and names the first `max_named` unusable ones. `max_pixels` is that of the loader.
/// Opens every shard, reads no samples. Throws what Dataset::index() throws.
ImageConditions image_conditions(const Dataset& dataset, std::size_t max_named,
                                 std::uint64_t max_pixels = k_default_max_pixels);

}  // namespace bale
