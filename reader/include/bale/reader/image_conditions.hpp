// ImageConditions: which images of a dataset are incomplete or undecodable, according to its indexes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/reader/dataset.hpp"

namespace bale {

struct ImageConditions {
  struct Flawed {
    std::string path;  // of the shard
    std::string key;
    ImageCondition condition = ImageCondition::unknown;
  };

  std::uint64_t num_complete = 0;
  std::uint64_t num_incomplete = 0;
  std::uint64_t num_undecodable = 0;
  std::uint64_t num_unknown = 0;  // not examined, of a kind that is not decoded, or samples without an image
  std::vector<Flawed> flawed;     // the first incomplete or undecodable ones

  std::uint64_t num_flawed() const { return num_incomplete + num_undecodable; }
};

/// Counts the images by condition and names the first `max_named` flawed ones. Opens every shard, reads no samples.
/// Throws what Dataset::index() throws.
ImageConditions image_conditions(const Dataset& dataset, std::size_t max_named);

}  // namespace bale
