#include "bale/writer/source/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/writer/source/integer_text.hpp"

namespace bale {
namespace {

using Json = nlohmann::json;  // sorted members: lookups stay fast for any number of them

// Writing nested values recurses, so their depth is bounded when they are parsed.
constexpr int k_max_depth = 100;

Json parse(std::string_view text) {
  const auto bounded = [](int depth, Json::parse_event_t, Json&) {
    if (depth > k_max_depth) throw Error(ErrorCode::damaged, "JSON nested too deeply");
    return true;
  };
  try {
    return Json::parse(text, bounded);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::damaged, fmt::format("not JSON from byte {} on", error.byte));
  }
}

Json parse_object(std::string_view text) {
  Json object = parse(text);
  if (!object.is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  return object;
}

std::string dump(const Json& value) {
  try {
    return value.dump();
  } catch (const Json::exception&) {
    throw Error(ErrorCode::damaged, "a column's text is not UTF-8");
  }
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> parse_class_map_json(std::string_view text, const std::string& path) {
  std::vector<std::pair<std::string, std::int64_t>> entries;
  try {
    const Json map = parse(text);
    if (map.is_array()) {
      for (const Json& name : map)
        entries.emplace_back(text_from_json(name, "a class name"), static_cast<std::int64_t>(entries.size()));
      return entries;
    }
    for (const auto& [key, value] : map.items()) {
      if (value.is_number_integer()) {
        entries.emplace_back(key, value.get<std::int64_t>());
        continue;
      }
      const auto index = parse_integer(key);
      const Json& name = value.is_array() && !value.empty() ? value.front() : value;
      if (!index) throw Error(ErrorCode::damaged, fmt::format("\"{}\" has no integer", printable(key)));
      entries.emplace_back(text_from_json(name, "a class name"), *index);
    }
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("not a class map: {}", error.message()), {.path = path});
  }
  return entries;
}

std::vector<JsonCell> parse_json_cells(std::string_view object) {
  std::vector<JsonCell> cells;
  const Json parsed = parse_object(object);
  for (const auto& [name, value] : parsed.items()) {
    JsonCell cell{.name = name, .text = std::nullopt};
    if (value.is_string()) {
      cell.text = value.get<std::string>();
    } else if (value.is_number_integer()) {
      cell.text = value.dump();
    } else if (!value.is_null()) {
      cell.is_scalar = false;
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::string json_without(std::string_view object, const std::vector<std::string_view>& names) {
  Json kept = parse_object(object);
  for (const std::string_view name : names) kept.erase(std::string(name));
  return dump(kept);
}

std::string json_of_texts(const std::vector<std::pair<std::string_view, std::string_view>>& members) {
  Json object = Json::object();
  for (const auto& [name, value] : members) object[std::string(name)] = std::string(value);
  return dump(object);
}

}  // namespace bale
