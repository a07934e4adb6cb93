// The word that a misspelled one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale::tools {

/// "; did you mean WORD?" with the nearest of `words`, or "" if none is near.
std::string suggestion(std::string_view typed, const std::vector<std::string>& words);

}  // namespace bale::tools
