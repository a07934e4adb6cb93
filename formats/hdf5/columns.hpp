// Datasets of a foreign container that have one row per image: each becomes a field.
//
// What a dataset becomes is told by its name, type and size alone, so that a payload finds again what a scan found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/hdf5/input.hpp"

namespace bale::h5 {

/// Links that are looked at in a file; no honest one has more.
inline constexpr std::size_t k_max_links = 1000;

/// The field that a dataset's rows are: "boxes" with the suffix of an array for numbers, "captions.txt" for strings, "masks" with a suffix that
/// the content tells for variable-length bytes. Empty if its rows are nothing that can be delivered.
std::string field_of_dataset(const InputDataset& dataset);

/// The dataset whose rows are the field, which is not located: numbers, or strings of one size. Needs an H5Lock.
std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field);

}  // namespace bale::h5
