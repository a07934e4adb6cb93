#include "bale/reader/image_conditions.hpp"

namespace bale {

ImageConditions image_conditions(const Dataset& dataset, std::size_t max_named, std::uint64_t max_pixels) {
  ImageConditions out{.max_pixels = max_pixels};
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const ImageCondition condition = index.condition(i);
      const bool is_above = is_above_limit(index.width(i), index.height(i), max_pixels);
      switch (condition) {
        case ImageCondition::unknown:
          ++out.num_unknown;
          if (!is_above) continue;
          ++out.num_above_limit;
          break;
        case ImageCondition::complete:
          ++out.num_complete;
          if (!is_above) continue;
          ++out.num_above_limit;
          break;
        case ImageCondition::incomplete:
          ++out.num_incomplete;
          break;
        case ImageCondition::undecodable:
          ++out.num_undecodable;
          break;
      }
      if (out.unusable.size() >= max_named) continue;
      out.unusable.push_back({.path = dataset.shard_path(number),
                              .key = std::string(index.key(i)),
                              .condition = condition,
                              .width = index.width(i),
                              .height = index.height(i)});
    }
  }
  return out;
}

}  // namespace bale
