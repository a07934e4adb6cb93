// Normal variates with the same bits on every machine.
#pragma once

#include "bale/formats/base/random.hpp"

namespace bale::transform_detail {

/// A draw from the normal distribution of mean 0 and standard deviation 1. Source: Marsaglia's polar method.
double portable_normal(KeyedRandom& random);

}  // namespace bale::transform_detail
