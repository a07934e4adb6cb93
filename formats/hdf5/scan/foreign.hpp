// What a file of another tool's consists of: datasets with one row per image, and labels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/hdf5/file/input.hpp"

namespace bale::h5 {

// Datasets of a foreign container that have one row per image: each becomes a field, which depends only on the
// dataset's name, type and size, so that a payload finds the same dataset as the scan.

/// Limit of the links that are examined in a file. No valid file has more.
inline constexpr std::size_t k_max_links = 1000;

/// The field for a dataset's rows: "boxes.npy" for numbers, "captions.txt" for strings, "masks" for variable-length
/// bytes (the scan adds a suffix by their content). Empty if the rows cannot be delivered.
std::string field_of_dataset(const InputDataset& dataset);

/// The dataset whose rows are a field that is not located: numbers, or strings of one size. Needs an H5Lock.
std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field);

// Class numbers of the samples of another tool's container, in any of the usual representations.

struct ForeignLabels {
  std::vector<std::int64_t> numbers;  // one per sample; k_no_label for rows past the dataset's end (Fuel's test set)
  std::string dataset{};              // the dataset that they are from; empty: none
};

/// Reads whole numbers of any type, digits, or one-hot rows. If a dataset with a label's name holds anything else, it
/// is ignored, and a warning names its first row that is not a class. Needs an H5Lock.
ForeignLabels find_labels(const InputFile& file, std::uint64_t num_samples, NoticeLog& notices);

}  // namespace bale::h5
