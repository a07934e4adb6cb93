// Variable-length data: finds the position of each element in the file without the library.
//
// The library returns vlen elements only as copies, made under its lock. In the file each is a 16-byte reference in the
// dataset and an object in a global heap collection (FORMAT.md, "Vlen").
#pragma once

#include <vector>

#include "bale/formats/hdf5/file/input.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

/// One range per element of a vlen dataset, checked to lie inside its heap object; {0, 0} for an empty one.
/// Throws `damaged`; `unsupported` for filters that we cannot undo.
std::vector<FileRange> locate_vlen(const InputFile& file, const InputDataset& dataset);

}  // namespace bale::h5
