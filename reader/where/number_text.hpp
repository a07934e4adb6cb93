// Numbers of conditions as text: any whole number of 64 bits exactly.
#pragma once

#include <optional>
#include <string_view>

namespace bale {

/// The decimal number that is all of `text`, in C's notation without a leading plus, in any locale of the process.
/// nullopt if it is none, or if a long double does not hold it.
std::optional<long double> number_of_text(std::string_view text);

}  // namespace bale
