// A random subset of a source.
#pragma once

#include <cstdint>
#include <memory>

#include "bale/writer/source/source.hpp"

namespace bale {

/// How many samples to draw: `count`, or `fraction` of them if it is not 0. Neither: all.
struct SampleDraw {
  std::uint64_t count = 0;
  double fraction = 0;     // 0..1
  bool per_class = false;  // of each class, and of the samples without a label
  std::uint64_t seed = 0;

  bool takes_all() const { return count == 0 && fraction == 0; }
};

/// Draws samples of `source`, which keep its order and classes. All samples if there are not more than `count`. A
/// fraction is rounded, and at least one sample is drawn of each group.
///
/// A sample is drawn by the hash of its key and the seed, so the draw does not depend on the order of the source or on
/// its format, and a smaller draw with the same seed is part of a larger one. Throws `invalid_argument` for a fraction
/// that is not within 0..1.
std::unique_ptr<Source> draw_samples(std::unique_ptr<Source> source, const SampleDraw& draw);

}  // namespace bale
