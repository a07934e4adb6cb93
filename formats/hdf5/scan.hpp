// Finds the samples of a container: one of ours by its `layout` attribute, any other by common names of datasets.
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

/// Sets the extents of a vlen column: one range per sample, absent if `present` is not empty and has 0 for the sample.
void set_vlen_extents(const InputFile& file, const std::string& dataset, const std::vector<std::uint8_t>& present,
                      std::string_view stored_name, IndexBuilder& index);

/// A dataset of decoded images (or other arrays): sample i is its i-th row.
struct ArrayShape {
  InputDataset dataset;
  std::string header;  // NumPy's header, which every row is delivered with
  std::uint64_t row_bytes = 0;
  std::uint32_t width = 0;  // 0 if the axes are not known to be those of an image
  std::uint32_t height = 0;

  std::uint64_t delivered_bytes() const { return header.size() + row_bytes; }
};

/// The dataset's rows as arrays; nullopt if NumPy does not have its element type. Needs an H5Lock.
std::optional<ArrayShape> array_of(const InputFile& file, InputDataset dataset);

/// The container's decoded images; nullopt if it has none. Needs an H5Lock.
std::optional<ArrayShape> find_array(const InputFile& file);

/// Fills `index` from a file without our attributes. Needs an H5Lock.
void scan_foreign(const InputFile& file, IndexBuilder& index);

/// Declares the column k_array_field and sets every sample's extent: offset = row, length = delivered bytes.
void set_array_extents(const InputFile& file, const ArrayShape& array, IndexBuilder& index);

}  // namespace bale::h5
