// What --json prints: one JSON value with its end of line.
#pragma once

#include <string>

#include "bale/formats/base/json/json.hpp"

namespace bale::tools {

inline std::string json_document(const Json& value) { return value.dump({.indent = 2}) + '\n'; }

}  // namespace bale::tools
