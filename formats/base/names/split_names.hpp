// Usual names of the splits of a dataset.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {

inline constexpr std::array<std::string_view, 11> k_split_names{
    "dev", "eval", "evaluation", "test", "testing", "train", "training", "val", "valid", "validate", "validation"};

/// Whether people call a split so, in any case of letters.
inline bool is_split_name(std::string_view name) {
  return std::find(k_split_names.begin(), k_split_names.end(), lower_case(name)) != k_split_names.end();
}

}  // namespace bale
