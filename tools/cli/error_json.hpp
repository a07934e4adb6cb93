// What a command with --json prints if it fails.
#pragma once

#include <string>

#include "bale/formats/base/error.hpp"

namespace bale::tools {

/// {"error": {"code": ..., "message": ...}}, with path, key, offset, hint and errno if they are known, and an end of
/// line.
std::string error_json(const Error& error);

}  // namespace bale::tools
