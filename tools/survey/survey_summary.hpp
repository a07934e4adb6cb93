// summarize(): the counts of a Survey that charts and tables show.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bale/tools/survey/survey.hpp"

namespace bale {

/// Values from `begin` to just below `end`; those of the last bin may be larger.
struct Bin {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t count = 0;
};

struct Spread {
  std::uint64_t num_values = 0;
  std::uint64_t min = 0;
  std::uint64_t median = 0;
  std::uint64_t max = 0;
  std::vector<Bin> bins;  // at most 24, of one width that is a round number; empty without values
};

struct NamedCount {
  std::string name;
  std::uint64_t count = 0;
};

struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint64_t count = 0;
};

struct PartSummary {
  std::uint64_t num_images = 0;
  std::uint64_t num_unlabeled = 0;
  std::uint64_t num_corrupt = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> class_counts;  // by class number
};

struct SurveySummary {
  std::vector<PartSummary> parts;
  PartSummary all;
  std::uint64_t num_remarked = 0;  // images that can be used and have a remark
  std::array<std::uint64_t, k_num_remarks> remarks{};
  Spread widths;
  Spread heights;
  Spread bytes;
  std::vector<NamedCount> aspects;      // from tall to wide, all classes of them
  std::vector<ImageSize> common_sizes;  // at most ten, the most frequent first
  std::uint64_t num_sizes = 0;          // different ones
  std::vector<NamedCount> kinds;        // "jpeg"; the most frequent first
  std::vector<NamedCount> samplings;    // of JPEGs, likewise
  std::uint64_t num_jpegs = 0;
  std::uint64_t num_progressive = 0;
  std::array<std::uint64_t, 9> orientations{};  // by the number of EXIF, 1..8
};

/// Pure.
SurveySummary summarize(const Survey& survey);

/// Which of `count` things to show: at most `most`, evenly spread, the first among them.
std::vector<std::uint64_t> spread_choice(std::uint64_t count, std::uint64_t most);

}  // namespace bale
