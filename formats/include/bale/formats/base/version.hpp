// Version of bale: of the headers, as numbers for #if, and of the library.
#pragma once

#include <string_view>

#include "bale/formats/base/cxx20.hpp"

/// Of these headers, as numbers, and as one that grows: #if BALE_VERSION >= 400 asks for 0.4.0 or later.
#define BALE_VERSION_MAJOR 0
#define BALE_VERSION_MINOR 3
#define BALE_VERSION_PATCH 1
#define BALE_VERSION (BALE_VERSION_MAJOR * 10000 + BALE_VERSION_MINOR * 100 + BALE_VERSION_PATCH)

namespace bale {

/// Of the libraries that the program is linked with: "MAJOR.MINOR.PATCH". It lives as long as the program. Any thread
/// may call it.
std::string_view version();
/// The same as a number: another one than BALE_VERSION if the program was compiled with headers of another version.
int version_number();

}  // namespace bale
