// exp and log that give the same bits everywhere: additions, multiplications and divisions of IEEE doubles only, in a
// fixed order. Mathematical libraries differ in their last bits, and a last bit can move a crop by a pixel.
#pragma once

namespace bale::transform_detail {

/// Within a few units in the last place, for |x| <= 700.
double portable_exp(double x);

/// Within a few units in the last place, for finite, normal x > 0.
double portable_log(double x);

/// Python's round(): ties to even. Precondition: 0 <= x < 2^53.
double round_half_even(double x);

}  // namespace bale::transform_detail
