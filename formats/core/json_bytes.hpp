// Raw bytes in JSON without loss: a string where the bytes are UTF-8, else {"hex": "..."}.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace bale {

nlohmann::json bytes_to_json(std::string_view raw);

/// Throws `damaged` for anything that bytes_to_json does not make.
std::string bytes_from_json(const nlohmann::json& value);

}  // namespace bale
