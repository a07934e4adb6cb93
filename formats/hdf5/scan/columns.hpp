// Datasets of a foreign container that have one row per image: each becomes a field.
//
// The field depends only on the dataset's name, type and size, so that a payload finds the same dataset as the scan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/hdf5/file/input.hpp"

namespace bale::h5 {

/// Limit of the links that are examined in a file. No valid file has more.
inline constexpr std::size_t k_max_links = 1000;

/// The field for a dataset's rows: "boxes.npy" for numbers, "captions.txt" for strings, "masks" for variable-length
/// bytes (the scan adds a suffix by their content). Empty if the rows cannot be delivered.
std::string field_of_dataset(const InputDataset& dataset);

/// The dataset whose rows are a field that is not located: numbers, or strings of one size. Needs an H5Lock.
std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field);

}  // namespace bale::h5
