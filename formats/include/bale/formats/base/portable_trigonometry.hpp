// Sine, cosine and tangent with the same bits on every machine: IEEE operations in a fixed order, in pairs of doubles.
// Math libraries differ in the last bits, and a last bit can change a pixel.
//
// The results are correctly rounded in nearly all cases, so they equal those of a good math library. |x| < 2^20.
// Threads: pure functions; may be called from any thread.
#pragma once

namespace bale {

double portable_sin(double x);
double portable_cos(double x);
double portable_tan(double x);

}  // namespace bale
