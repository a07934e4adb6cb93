// Reads one field of many samples in one call, with several threads.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/dataset/process_dataset.hpp"

namespace bale::python {

/// The bytes of `field`, or of each sample's image if it is None, in the order of `positions`
/// (sample_at()). `threads` of 0: one per core. Fields that are not compressed are read directly into the Python
/// objects.
nb::typed<nb::list, nb::bytes> read_many(ProcessDataset& self, nb::handle positions, nb::handle field,
                                         unsigned threads);

/// Memory of the caller, of any object with a writable buffer.
using Out = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The same, into `out`, one sample after the other. Returns their sizes. Throws `invalid_argument` if `out` is too
/// small.
nb::typed<nb::list, nb::int_> read_many_into(ProcessDataset& self, nb::handle positions, nb::handle field,
                                             unsigned threads, const Out& out);

/// The samples that Python's integers name: -1 is the last one.
/// The number of the sample at position `i` of `size`. Throws IndexError, and TypeError for what is not an integer.
std::uint64_t sample_at(nanobind::handle i, std::uint64_t size);

/// The same for an iterable of positions. Throws ValueError for masks and bytes.
std::vector<std::uint64_t> samples_at(nanobind::handle positions, std::uint64_t size);

}  // namespace bale::python
