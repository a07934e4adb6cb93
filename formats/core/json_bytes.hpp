// Raw bytes and counts in JSON without loss: bytes are a string where they are UTF-8, else {"hex": "..."}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace bale {

nlohmann::json bytes_to_json(std::string_view raw);

/// Throws `damaged` for anything that bytes_to_json does not make.
std::string bytes_from_json(const nlohmann::json& value);

/// Throws `damaged` for anything but an integer from 0 to 2^64 - 1; the JSON library would cut others to fit.
std::uint64_t count_from_json(const nlohmann::json& value);

}  // namespace bale
