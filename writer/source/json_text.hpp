// JSON for sources. Only json_text.cpp includes the JSON library.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bale {

/// Class names with their labels, as ClassMap::load describes. Throws `invalid_argument`, naming `path`.
std::vector<std::pair<std::string, std::int64_t>> parse_class_map_json(std::string_view text, const std::string& path);

/// A value of a JSON object as a table cell: text, decimal digits for an integer, nullopt for null.
struct JsonCell {
  std::string name;
  std::optional<std::string> text;
  bool is_scalar = true;  // false: array, object, fraction or boolean, which cannot be a path or a label
};
/// Throws `damaged` for anything but one JSON object of moderate depth.
std::vector<JsonCell> parse_json_cells(std::string_view object);
/// The object on one line, without the named members.
std::string json_without(std::string_view object, const std::vector<std::string_view>& names);
/// {"name":"value",...} on one line. Throws `damaged` for text that is not UTF-8.
std::string json_of_texts(const std::vector<std::pair<std::string_view, std::string_view>>& members);

}  // namespace bale
