// Names of the formats and layouts of this build, for help texts and messages.
#pragma once

#include <string>
#include <string_view>

namespace bale::tools {

/// "A|B|C": the formats that bale writes, in the order of the registry.
std::string format_choices();
/// The same with the formats that bale only reads.
std::string packed_source_choices();
/// The layouts of all formats in the same form, each name once.
std::string layout_choices();
/// The values of --source: "folder|list|...|A|B|C".
std::string source_choices();
/// Returns the value of --source, which must be a format if `packed`. Throws `invalid_argument`.
std::string parse_source_kind(std::string_view option, const std::string& text, bool packed);

}  // namespace bale::tools
