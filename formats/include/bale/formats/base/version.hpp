// Version of bale.
#pragma once

#include <string_view>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// Of the libraries that the program is linked with: "MAJOR.MINOR.PATCH". It lives as long as the program. Any thread
/// may call it.
std::string_view version();

}  // namespace bale
