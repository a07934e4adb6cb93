// Variable-length data: where each element lies in the file, without the library.
//
// The library can only hand out vlen elements as copies made under its lock. Their place is plain in the
// file: a 16-byte reference in the dataset, an object in a global heap collection (FORMAT.md, "Vlen").
#pragma once

#include <vector>

#include "bale/formats/hdf5/input.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

/// One range an element of a vlen dataset, checked to lie inside its heap object; {0, 0} for an empty one.
/// Throws `damaged`; `unsupported` for filters that we cannot undo.
std::vector<FileRange> locate_vlen(const InputFile& file, const InputDataset& dataset);

}  // namespace bale::h5
