// Class numbers of a foreign container's samples, from whatever its makers wrote them as.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/hdf5/input.hpp"

namespace bale::h5 {

struct ForeignLabels {
  std::vector<std::int64_t> numbers;  // one per sample; k_no_label for rows past the dataset's end (Fuel's test set)
  std::string dataset{};              // that they are from; empty: none
};

/// Whole numbers of any type, digits, or one-hot rows. A dataset that is called so and holds anything else is not
/// taken: a warning names its first row that is no class. Needs an H5Lock.
ForeignLabels find_labels(const InputFile& file, std::uint64_t num_samples, NoticeLog& notices);

}  // namespace bale::h5
