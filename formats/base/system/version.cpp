#include "bale/formats/base/version.hpp"

#define BALE_TEXT_OF(number) #number
#define BALE_TEXT(number) BALE_TEXT_OF(number)

namespace bale {

static_assert(std::string_view(BALE_PROJECT_VERSION) ==
                  BALE_TEXT(BALE_VERSION_MAJOR) "." BALE_TEXT(BALE_VERSION_MINOR) "." BALE_TEXT(BALE_VERSION_PATCH),
              "version.hpp and CMakeLists.txt have different versions");

std::string_view version() { return BALE_PROJECT_VERSION; }
int version_number() { return BALE_VERSION; }

}  // namespace bale
