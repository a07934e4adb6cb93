#include "bale/reader/image_conditions.hpp"

namespace bale {

ImageConditions image_conditions(const Dataset& dataset, std::size_t max_named) {
  ImageConditions out;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const ImageCondition condition = index.condition(i);
      switch (condition) {
        case ImageCondition::unknown:
          ++out.num_unknown;
          continue;
        case ImageCondition::complete:
          ++out.num_complete;
          continue;
        case ImageCondition::incomplete:
          ++out.num_incomplete;
          break;
        case ImageCondition::undecodable:
          ++out.num_undecodable;
          break;
      }
      if (out.flawed.size() < max_named)
        out.flawed.push_back({dataset.shard_path(number), std::string(index.key(i)), condition});
    }
  }
  return out;
}

}  // namespace bale
