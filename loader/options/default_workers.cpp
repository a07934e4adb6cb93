#include "bale/loader/options/default_workers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/parallel.hpp"

namespace bale::loader_detail {
namespace {

unsigned num_local_ranks() {
  const char* const text = std::getenv("LOCAL_WORLD_SIZE");
  const long number = text != nullptr ? std::strtol(text, nullptr, 10) : 1;
  return static_cast<unsigned>(std::clamp(number, 1L, 1L << 16));
}

}  // namespace

unsigned share_of_cores(const CoresOfRank& cores) {
  const bool is_shared = cores.parents <= cores.own;
  const unsigned share = std::max(is_shared ? cores.own / cores.num_ranks : cores.own, 1U);
  const auto quota = cores.quota ? std::optional(*cores.quota / cores.num_ranks) : std::nullopt;
  return limited_by(quota, share);
}

unsigned default_workers() {
  const unsigned own = affinity_cores().value_or(usable_cores());
  return share_of_cores({.own = own,
                         .parents = affinity_cores(::getppid()).value_or(own),
                         .quota = cpu_quota(),
                         .num_ranks = num_local_ranks()});
}

}  // namespace bale::loader_detail
