#include "bale/formats/base/version.hpp"

namespace bale {

std::string_view version() { return BALE_VERSION; }

}  // namespace bale
