#include "bale/formats/core/json_bytes.hpp"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/utf8.hpp"

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

std::uint64_t count_from_json(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) throw Error(ErrorCode::damaged, "a number that counts nothing");
  return value.get<std::uint64_t>();
}

}  // namespace bale
