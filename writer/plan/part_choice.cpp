#include "bale/writer/plan/part_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {

std::pair<std::uint64_t, std::uint64_t> shards_of_part(std::uint64_t part, std::uint64_t parts,
                                                       std::uint64_t num_shards) {
  // The product may have more than 64 bits.
  const auto start = [&](std::uint64_t number) {
    return num_shards / parts * number + num_shards % parts * number / parts;
  };
  return {start(part), start(part + 1)};
}

std::vector<std::uint64_t> chosen_shards(const PlanFile& plan, const PartChoice& choice) {
  const auto refuse = [&](const std::string& why, std::string hint) {
    throw Error(ErrorCode::invalid_argument, why, {.path = plan.path(), .hint = std::move(hint)});
  };
  std::vector<std::uint64_t> chosen;
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t number = begin; number < end; ++number) chosen.push_back(number);
  };
  if (choice.part) {
    constexpr std::uint64_t k_max_parts = std::uint64_t{1} << 31;
    const auto [part, parts] = *choice.part;
    if (parts == 0 || parts > k_max_parts || part >= parts) {
      refuse(fmt::format("there is no part {} of {}", part, parts), "parts are numbered from 0: `part` 0/4 to 3/4");
    }
    const auto [begin, end] = shards_of_part(part, parts, plan.num_shards());
    add(begin, end);
    return chosen;
  }
  for (const auto& [first, last] : choice.shards) {
    if (first > last || last >= plan.num_shards()) {
      refuse(fmt::format("the plan has no shards {}..{}", first, last),
             fmt::format("its shards are 0..{}", plan.num_shards() - 1));
    }
    add(first, last + 1);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<std::uint64_t> missing_parts_of(const std::vector<std::uint64_t>& missing_shards, std::uint64_t parts,
                                            std::uint64_t num_shards) {
  std::vector<std::uint64_t> missing_parts;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto [begin, end] = shards_of_part(part, parts, num_shards);
    const auto missing = std::lower_bound(missing_shards.begin(), missing_shards.end(), begin);
    if (missing != missing_shards.end() && *missing < end) missing_parts.push_back(part);
  }
  return missing_parts;
}

}  // namespace bale
