// DrawKey: what random parameters depend on, in addition to the transform and the image's size. The same key draws the
// same in every process and on every machine.
#pragma once

#include <cstdint>

namespace bale {

struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
  std::uint64_t copy = 0;
  std::uint64_t view = 0;  // of one sample in one row: views draw independently
};

}  // namespace bale
