// Names of the formats and layouts of this build, for texts.
#pragma once

#include <string>

namespace bale::tools {

/// "A|B|C", in the order of the registry.
std::string format_choices();
/// The same of the layouts of all formats, each name once.
std::string layout_choices();

}  // namespace bale::tools
