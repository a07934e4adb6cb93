// The two tiers of the tests: the short one, which always runs, and the long one of `scripts/test.sh --long`.
#pragma once

#include <cstdlib>

namespace bale::test {

/// A count that depends on the tier. BALE_LONG_TESTS in the environment selects the long tier.
template <typename Count>
Count by_tier(Count short_tier, Count long_tier) {
  return std::getenv("BALE_LONG_TESTS") != nullptr ? long_tier : short_tier;
}

}  // namespace bale::test
