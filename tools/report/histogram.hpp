// A histogram in text: at most ten rows of round bounds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace bale::tools {

/// What counts as round: 1, 2, 5, 10, ... or powers of two.
enum class Bounds { decimal, binary };

/// `sorted` is ascending and not empty; `show` writes a bound. One row a bin: "  bound .. bound  count  ####".
std::string histogram_text(std::span<const std::uint64_t> sorted, Bounds bounds, std::string (*show)(std::uint64_t));

}  // namespace bale::tools
