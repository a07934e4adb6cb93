#include "bale/formats/base/json_bytes.hpp"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/utf8.hpp"

namespace bale {
nlohmann::json bytes_to_json(std::string_view raw) {
  if (is_utf8(raw)) return std::string(raw);
  std::string hex;
  for (const char c : raw) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", hex}};
}

std::string bytes_from_json(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto bad = [] { return Error(ErrorCode::damaged, "neither a string nor {\"hex\": ...}"); };
  if (!value.is_object() || !value.contains("hex") || !value["hex"].is_string()) throw bad();
  const auto& hex = value["hex"].get_ref<const std::string&>();
  if (hex.size() % 2 != 0) throw bad();
  std::string raw;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    unsigned byte = 0;
    const char* end = hex.data() + at + 2;
    if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end) throw bad();
    raw += static_cast<char>(byte);
  }
  return raw;
}

nlohmann::json parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(ErrorCode::damaged, fmt::format("not JSON from byte {} on", error.byte));
  }
}

const nlohmann::json& json_member(const nlohmann::json& value, const char* name) {
  if (!value.is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  const auto found = value.find(name);
  if (found == value.end()) throw Error(ErrorCode::damaged, fmt::format("no member \"{}\"", name));
  return *found;
}

const std::string& text_from_json(const nlohmann::json& value, std::string_view what) {
  if (!value.is_string()) throw Error(ErrorCode::damaged, fmt::format("{} is not text", what));
  return value.get_ref<const std::string&>();
}

std::vector<std::string> texts_from_json(const nlohmann::json& value, std::string_view what) {
  if (!value.is_array()) throw Error(ErrorCode::damaged, fmt::format("{} is not a list", what));
  std::vector<std::string> texts;
  for (const nlohmann::json& text : value) texts.push_back(text_from_json(text, what));
  return texts;
}

std::uint64_t count_from_json(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) throw Error(ErrorCode::damaged, "a number that counts nothing");
  return value.get<std::uint64_t>();
}

}  // namespace bale
