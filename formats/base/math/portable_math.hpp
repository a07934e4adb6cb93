// Functions with the same bits on every machine: only additions, multiplications and divisions of IEEE doubles, in a
// fixed order. Math libraries differ in the last bits, and a last bit can move a crop by a pixel.
//
// Threads: pure functions; may be called from any thread.
#pragma once

namespace bale {

/// Accurate to a few units in the last place for |x| <= 700.
double portable_exp(double x);

/// Accurate to a few units in the last place for finite, normal x > 0.
double portable_log(double x);

/// For |x| < 2^20. In pairs of doubles, so the results are correctly rounded in nearly all cases: they equal those of a
/// good math library.
double portable_sin(double x);
double portable_cos(double x);
double portable_tan(double x);

}  // namespace bale
