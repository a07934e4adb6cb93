// Histograms as text. Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace bale::tools {

/// Which numbers are round: 1, 2, 5, 10, ... or powers of two.
enum class Bounds { decimal, binary };

/// `sorted` must be ascending and not empty; `show` formats a bound. At most ten rows with round bounds, one per bin: "
/// bound .. bound  count  ####".
std::string histogram_text(std::span<const std::uint64_t> sorted, Bounds bounds, std::string (*show)(std::uint64_t));

}  // namespace bale::tools
