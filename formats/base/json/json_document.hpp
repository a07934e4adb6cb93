// A report as JSON: one value with its end of line, and texts in it without what may be secret.
#pragma once

#include <string>
#include <string_view>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/without_secrets.hpp"

namespace bale {

inline std::string json_document(const Json& value) { return value.dump({.indent = 2}) + '\n'; }

/// A path, a spec or a sentence with one, without what may be secret.
inline Json shown_json(std::string_view text) { return bytes_to_json(without_secrets(text)); }

}  // namespace bale
