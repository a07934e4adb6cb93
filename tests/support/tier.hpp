// The two tiers of the tests: the short one, which always runs, and the long one of `scripts/test.sh --long`.
#pragma once

#include <cstdlib>

namespace bale::test {

/// A count that depends on the tier. BALE_LONG_TESTS in the environment selects the long tier.
template <typename Count>
Count by_tier(Count short_tier, Count long_tier) {
  return std::getenv("BALE_LONG_TESTS") != nullptr ? long_tier : short_tier;
}

/// The same with a count of its own for the short tier under AddressSanitizer, which takes several times as long.
template <typename Count>
Count by_tier([[maybe_unused]] Count short_tier, Count long_tier, [[maybe_unused]] Count sanitized) {
#ifdef __SANITIZE_ADDRESS__
  return by_tier(sanitized, long_tier);
#else
  return by_tier(short_tier, long_tier);
#endif
}

}  // namespace bale::test
