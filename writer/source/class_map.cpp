#include "bale/writer/source/class_map.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json.hpp"
#include "bale/writer/source/integer_text.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_file_bytes = std::uint64_t{64} << 20;
constexpr std::int64_t k_max_label = 10'000'000;
constexpr std::string_view k_space = " \t";

struct NameAndIndex {
  std::string_view name;
  std::int64_t index;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

/// "name index" or "name,index".
std::optional<NameAndIndex> split_index(std::string_view line) {
  const std::size_t cut = line.find_last_of(" \t,");
  if (cut == std::string_view::npos) return std::nullopt;
  const auto index = parse_integer(line.substr(cut + 1));
  std::string_view name = trimmed(line.substr(0, cut));
  if (name.ends_with(',')) name = trimmed(name.substr(0, name.size() - 1));
  if (!index || name.empty()) return std::nullopt;
  return NameAndIndex{name, *index};
}

/// ImageNet's synset lists have a WordNet id (n + 8 digits) before the description.
std::string_view without_description(std::string_view line) {
  const std::string_view first = line.substr(0, line.find_first_of(k_space));
  const bool is_wordnet_id =
      first.size() == 9 && first[0] == 'n' && first.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_wordnet_id ? first : line;
}

/// {"name": 0}, {"0": "name"} or {"0": ["WordNet id", "name"]}.
std::pair<std::string, std::int64_t> class_of_member(const std::string& key, const Json& value) {
  if (value.is_whole()) return {key, value.as_whole<std::int64_t>(fmt::format("the label of \"{}\"", printable(key)))};
  const auto index = parse_integer(key);
  if (!index) throw Error(ErrorCode::damaged, fmt::format("\"{}\" has no integer", printable(key)));
  const Json& name = value.is_array() && value.size() > 0 ? value.as_list(key).front() : value;
  return {name.as_text("a class name"), *index};
}

std::vector<std::pair<std::string, std::int64_t>> parse_class_json(std::string_view text, const std::string& path) {
  std::vector<std::pair<std::string, std::int64_t>> entries;
  try {
    const Json map = parse_json(text);
    if (map.is_object()) {
      for (const auto& [key, value] : map.as_members("the map")) entries.push_back(class_of_member(key, value));
      return entries;
    }
    for (const Json& name : map.as_list("the map")) {
      entries.emplace_back(name.as_text("a class name"), static_cast<std::int64_t>(entries.size()));
    }
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("not a class map: {}", error.message()), {.path = path});
  }
  return entries;
}

}  // namespace

ClassMap ClassMap::load(const std::string& path) {
  const std::vector<std::byte> content = read_file(path, k_max_file_bytes);
  std::string_view text = as_text(content);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ClassMap map(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    for (auto& [name, label] : parse_class_json(text, path)) map.add(std::move(name), label, 0);
  } else {
    map.parse_lines(text);
  }
  if (map.labels_.empty()) throw Error(ErrorCode::invalid_argument, "names no class", {.path = path});
  return map;
}

void ClassMap::parse_lines(std::string_view text) {
  struct Line {
    std::string_view text;
    std::size_t number;
  };
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line = trimmed(line); !line.empty()) lines.push_back({line, number});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const bool indexed =
      std::all_of(lines.begin(), lines.end(), [](const Line& line) { return split_index(line.text).has_value(); });
  std::int64_t next = 0;
  for (const Line& line : lines) {
    if (indexed) {
      const NameAndIndex entry = *split_index(line.text);
      add(std::string(entry.name), entry.index, line.number);
    } else {
      add(std::string(without_description(line.text)), next++, line.number);
    }
  }
}

void ClassMap::add(std::string name, std::int64_t label, std::size_t line) {
  const auto refuse = [&](std::string_view why) {
    const std::string where = line == 0 ? std::string() : fmt::format("line {}: ", line);
    throw Error(ErrorCode::invalid_argument, fmt::format("{}class \"{}\" {}", where, printable(name), why),
                {.path = path_, .hint = "write one \"name index\" per line, or a JSON object"});
  };
  if (label < 0 || label > k_max_label) refuse(fmt::format("has the label {}, not one of 0..{}", label, k_max_label));
  if (!labels_.emplace(name, label).second) refuse("occurs twice");
  const auto position = static_cast<std::size_t>(label);
  if (classes_.size() <= position) classes_.resize(position + 1);
  if (classes_[position].empty()) classes_[position] = std::move(name);
}

std::optional<std::int64_t> ClassMap::find(std::string_view name) const {
  const auto found = labels_.find(std::string(name));
  return found == labels_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t ClassMap::label(std::string_view name, const std::string& where) const {
  if (const auto label = find(name)) return *label;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("class \"{}\" is not in the class map {}", printable(name), printable(path_)),
              {.path = where, .hint = "add it to the map, or leave it out with `exclude`"});
}

}  // namespace bale
