// The labels of a packed dataset whose label field has texts, such as "dog" in WebDataset's `cls`; internal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bale/reader/dataset.hpp"
#include "bale/writer/source/classes/labels.hpp"

namespace bale {

struct LabelTexts {
  std::vector<LabelWord> words;                          // each text once
  std::vector<std::optional<std::uint32_t>> of_samples;  // positions in `words`
};

/// Reads the label field of `size` samples: at(i) is the number of sample `i` in the dataset. White space alone is
/// ignored, and with `skip_damaged` what cannot be read. Throws what Dataset::read_field() throws.
LabelTexts label_texts_of(const Dataset& dataset, std::uint64_t size,
                          const std::function<std::uint64_t(std::uint64_t)>& at, bool skip_damaged);

}  // namespace bale
