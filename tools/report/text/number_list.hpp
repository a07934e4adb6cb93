// Lists of numbers as users write them: "3,17,20..25".
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bale::tools {

/// Ascending numbers, with `range` between the ends of a range of at least three. Long lists are whole: they are for
/// programs, too.
std::string number_list(std::span<const std::uint64_t> numbers, std::string_view range);

}  // namespace bale::tools
