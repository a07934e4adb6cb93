// Cache warnings for the user.
#pragma once

#include <string>

namespace bale {

/// Passes one line to the handler of this process (remote_cache.hpp): the first one, and no other.
void warn_of_cache(const std::string& what);

}  // namespace bale
