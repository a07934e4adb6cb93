// What lies in a container: ours by its `layout` attribute, others by the names their makers use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/hdf5/heap.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::h5 {

/// Takes the library's lock itself.
void scan_container(const std::string& path, IndexBuilder& index);

/// Sets the extents of a vlen column: one range a sample, absent where `present` (if not empty) says 0.
void set_vlen_extents(const InputFile& file, const std::string& dataset, const std::vector<std::uint8_t>& present,
                      std::string_view stored_name, IndexBuilder& index);

/// A dataset of decoded images (or other arrays): sample i is its i-th row.
struct ArrayShape {
  InputDataset dataset;
  std::string header;  // NumPy's, which every row is delivered behind
  std::uint64_t row_bytes = 0;
  std::uint32_t width = 0;  // 0 where the axes are not known to be those of an image
  std::uint32_t height = 0;

  std::uint64_t delivered_bytes() const { return header.size() + row_bytes; }
};

/// The dataset's rows as arrays, or nullopt where its elements are none that NumPy has. Needs an H5Lock.
std::optional<ArrayShape> array_of(const InputFile& file, InputDataset dataset);

/// The container's decoded images, or nullopt where it has none. Needs an H5Lock.
std::optional<ArrayShape> find_array(const InputFile& file);

/// Fills `index` from a file without our attributes. Needs an H5Lock.
void scan_foreign(const InputFile& file, IndexBuilder& index);

/// Declares the column k_array_field and gives every sample its extent: offset = row, delivered bytes as length.
void set_array_extents(const InputFile& file, const ArrayShape& array, IndexBuilder& index);

}  // namespace bale::h5
