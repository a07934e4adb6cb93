// Compiled without floating-point contraction.
#include "bale/loader/transform/random/normal.hpp"

#include <cmath>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {

double portable_normal(KeyedRandom& random) {
  for (;;) {
    const double x = 2 * random.uniform() - 1;
    const double y = 2 * random.uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * portable_log(square) / square);
  }
}

}  // namespace bale::transform_detail
