// The style sheet of every page.
#pragma once

#include <string_view>

namespace bale::tools {

extern const std::string_view k_page_style;

}  // namespace bale::tools
