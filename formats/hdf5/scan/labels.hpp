// Class numbers of the samples of another tool's container, in any of the usual representations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/hdf5/file/input.hpp"

namespace bale::h5 {

struct ForeignLabels {
  std::vector<std::int64_t> numbers;  // one per sample; k_no_label for rows past the dataset's end (Fuel's test set)
  std::string dataset{};              // the dataset that they are from; empty: none
};

/// Reads whole numbers of any type, digits, or one-hot rows. If a dataset with a label's name holds anything else, it
/// is ignored, and a warning names its first row that is not a class. Needs an H5Lock.
ForeignLabels find_labels(const InputFile& file, std::uint64_t num_samples, NoticeLog& notices);

}  // namespace bale::h5
