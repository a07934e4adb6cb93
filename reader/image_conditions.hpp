// What the indexes of a dataset say of its images.
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
  std::uint64_t num_unknown = 0;  // not looked at, of kinds that are not decoded here, or samples without an image
  std::vector<Flawed> flawed;     // the first of those that are incomplete or undecodable

  std::uint64_t num_flawed() const { return num_incomplete + num_undecodable; }
};

/// Looks at every shard's index, and names the first `max_named` flawed images. No payload is read.
ImageConditions image_conditions(const Dataset& dataset, std::size_t max_named);

}  // namespace bale
