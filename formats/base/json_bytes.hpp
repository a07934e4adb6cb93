// Raw bytes and counts in JSON without loss: bytes are a string if they are UTF-8, else {"hex": "..."}. For JSON of
// unknown origin: the error messages are bale's own, never the JSON library's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace bale {

nlohmann::json bytes_to_json(std::string_view raw);

/// Throws `damaged` for anything that bytes_to_json() does not make.
std::string bytes_from_json(const nlohmann::json& value);

/// Throws `damaged`, naming the byte, if the text is not JSON.
nlohmann::json parse_json(std::string_view text);

/// Throws `damaged` if `value` is not an object or has no such member.
const nlohmann::json& json_member(const nlohmann::json& value, const char* name);

/// A text, or the texts of an array. Throws `damaged`, naming `what`, for anything else.
const std::string& text_from_json(const nlohmann::json& value, std::string_view what);
std::vector<std::string> texts_from_json(const nlohmann::json& value, std::string_view what);

/// Throws `damaged` for anything but an integer from 0 to 2^64 - 1; the JSON library would truncate others.
std::uint64_t count_from_json(const nlohmann::json& value);

}  // namespace bale
