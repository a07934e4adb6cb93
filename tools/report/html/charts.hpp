// Charts as inline SVG, in the page's colors. Each value is also in a tooltip or in a column next to it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bale/tools/survey/survey_summary.hpp"

namespace bale::tools {

/// How a number is written: human_bytes() or the like.
using ShowNumber = std::string (*)(std::uint64_t);

/// One bar per bin. Empty without values.
std::string histogram_svg(const Spread& spread, std::string_view label, ShowNumber show);

/// A bar over the whole width, `share` (0..1) of it filled.
std::string bar_svg(double share, std::string_view label);

/// A table with a bar per row. `total`: what percentages are of; 0: none are shown. `most`: the count of a bar over the
/// whole width, for tables that are compared; 0: the largest of these rows.
std::string bar_table(std::span<const NamedCount> rows, std::uint64_t total, std::uint64_t most = 0);

/// Values from large to small as an area. `sorted` must not be empty.
std::string curve_svg(std::span<const std::uint64_t> sorted, std::string_view label);

}  // namespace bale::tools
