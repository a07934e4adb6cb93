// The samples that Python's integers name: -1 is the last one.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

namespace bale::python {

/// The number of the sample at position `i` of `size`. Throws IndexError, and TypeError for what is no integer.
std::uint64_t sample_at(nanobind::handle i, std::uint64_t size);

/// The same for an iterable of positions.
std::vector<std::uint64_t> samples_at(nanobind::handle positions, std::uint64_t size);

}  // namespace bale::python
