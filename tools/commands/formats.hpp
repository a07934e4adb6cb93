// Names of the formats and layouts of this build, for texts.
#pragma once

#include <string>
#include <string_view>

namespace bale::tools {

/// "A|B|C", in the order of the registry.
std::string format_choices();
/// The same of the layouts of all formats, each name once.
std::string layout_choices();
/// What --source takes: "folder|list|...|A|B|C".
std::string source_choices();
/// One of them; of the formats only, if the source must be packed. Throws `invalid_argument`.
std::string parse_source_kind(std::string_view option, const std::string& text, bool packed);

}  // namespace bale::tools
