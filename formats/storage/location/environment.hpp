// Variables of the environment, as users set them.
#pragma once

#include <string>

namespace bale {

/// Without blanks and line ends around it, which secrets that come from files have. `otherwise` if that is empty.
std::string environment_variable(const char* name, const char* otherwise = "");
/// Whether it says yes: 1, true, yes, on.
bool is_on(const char* name);

}  // namespace bale
