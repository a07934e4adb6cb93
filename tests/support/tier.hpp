// The two tiers of the tests: the short one, always, and the long one of `scripts/test.sh --long`.
#pragma once

#include <cstdlib>

namespace bale::test {

/// How much of something to do; the long tier is asked for by BALE_LONG_TESTS in the environment.
template <typename Count>
Count by_tier(Count short_tier, Count long_tier) {
  return std::getenv("BALE_LONG_TESTS") != nullptr ? long_tier : short_tier;
}

}  // namespace bale::test
