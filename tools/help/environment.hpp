// The environment variables that the program reads, for the manual page.
#pragma once

#include <span>
#include <string_view>

namespace bale::tools {

struct VariableModel {
  std::string_view names;  // one, or several of one purpose: "A, B"
  std::string_view text;
};

std::span<const VariableModel> environment_variables();

}  // namespace bale::tools
