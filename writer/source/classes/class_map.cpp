#include "bale/writer/source/classes/class_map.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/source/classes/class_names.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_file_bytes = std::uint64_t{64} << 20;
constexpr std::int64_t k_max_label = 10'000'000;
constexpr std::string_view k_space = " \t";
constexpr std::string_view k_delimiters = ",;|";
constexpr std::string_view k_cell_ends = " \t,;|";

struct Line {
  std::string_view text;
  std::size_t number;
};

struct NameAndIndex {
  std::string name;
  std::int64_t index;
};

/// The text without quotes around it, as in cells of a table; doubled quotes inside are one.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return std::string(text);
  std::string inner;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    inner += text[i];
    if (text[i] == '"' && text[i + 1] == '"' && i + 2 < text.size()) ++i;
  }
  return inner;
}

/// "name index", "name,index", "name;index" or "name|index".
std::optional<NameAndIndex> name_then_index(std::string_view line) {
  const std::size_t cut = line.find_last_of(k_cell_ends);
  if (cut == std::string_view::npos) return std::nullopt;
  const auto index = whole_number<std::int64_t>(unquoted(line.substr(cut + 1)));
  std::string_view name = stripped(line.substr(0, cut));
  if (!name.empty() && k_delimiters.find(name.back()) != std::string_view::npos)
    name = stripped(name.substr(0, name.size() - 1));
  if (!index || name.empty()) return std::nullopt;
  return NameAndIndex{unquoted(name), *index};
}

/// "index name" or "index,name" and so on, as CUB-200 has them.
std::optional<NameAndIndex> index_then_name(std::string_view line) {
  const std::size_t cut = line.find_first_of(k_cell_ends);
  if (cut == std::string_view::npos) return std::nullopt;
  const auto index = whole_number<std::int64_t>(unquoted(line.substr(0, cut)));
  const std::string_view name = stripped(line.substr(cut + 1));
  if (!index || name.empty()) return std::nullopt;
  return NameAndIndex{unquoted(name), *index};
}

/// The names and indexes of all lines, or nothing if one has another form, or if they are names that end or begin with
/// a number ("Grade 0", "Grade 1").
template <typename Split>
std::vector<NameAndIndex> split_all(std::span<const Line> lines, const Split& split) {
  std::vector<NameAndIndex> entries;
  for (const Line& line : lines) {
    const std::optional<NameAndIndex> entry = split(line.text);
    if (!entry) return {};
    entries.push_back(*entry);
  }
  const bool is_one_name =
      entries.size() > 1 && std::all_of(entries.begin(), entries.end(),
                                        [&](const NameAndIndex& entry) { return entry.name == entries.front().name; });
  return is_one_name ? std::vector<NameAndIndex>() : entries;
}

/// Whether the entries are numbered from 0 or 1 in their order, and are more than numbers themselves: "1 Grade 0", "2
/// Grade 1".
bool are_numbered(const std::vector<NameAndIndex>& entries) {
  if (entries.size() < 2 || entries.front().index < 0 || entries.front().index > 1) return false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool is_next = entries[i].index == entries.front().index + static_cast<std::int64_t>(i);
    if (!is_next || whole_number<std::int64_t>(entries[i].name)) return false;
  }
  return true;
}

/// The id before a description: ImageNet's WordNet ids (n + 8 digits), Open Images' "/m/011k07,Tortoise". "" if it has
/// none.
std::string_view id_of(std::string_view line) {
  if (line.starts_with("/m/") || line.starts_with("/g/") || line.starts_with("/t/"))
    return line.substr(0, line.find_first_of(k_delimiters));
  const std::string_view first = line.substr(0, line.find_first_of(k_space));
  const bool is_wordnet_id =
      first.size() == 9 && first[0] == 'n' && first.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_wordnet_id ? first : std::string_view();
}

/// Whether the first line is "x,y" or "x;y" and all others are of a table.
bool has_header(std::span<const Line> lines) {
  const auto has_cells = [](const Line& line) {
    return line.text.find_first_of(k_delimiters) != std::string_view::npos;
  };
  if (lines.size() < 2 || !std::all_of(lines.begin(), lines.end(), has_cells)) return false;
  const auto is_row = [](const Line& line) {
    return name_then_index(line.text) || index_then_name(line.text) || !id_of(line.text).empty();
  };
  return !is_row(lines.front()) && std::all_of(lines.begin() + 1, lines.end(), is_row);
}

/// {"name": 0}, {"0": "name"} or {"0": ["WordNet id", "name"]}.
std::pair<std::string, std::int64_t> class_of_member(const std::string& key, const Json& value) {
  if (value.is_whole()) return {key, value.as_whole<std::int64_t>(fmt::format("the label of \"{}\"", printable(key)))};
  const auto index = whole_number<std::int64_t>(key);
  if (!index) throw Error(ErrorCode::damaged, fmt::format("\"{}\" has no integer", printable(key)));
  const Json& name = value.is_array() && value.size() > 0 ? value.as_list(key).front() : value;
  return {name.as_text("a class name"), *index};
}

std::vector<std::pair<std::string, std::int64_t>> parse_class_json(std::string_view text, const std::string& path) {
  std::vector<std::pair<std::string, std::int64_t>> entries;
  try {
    Json map = parse_json(text, {.refuses_repeated = true});
    if (const Json* const classes = map.find("classes"); classes != nullptr && classes->is_array()) {
      map = Json(*classes);  // the manifest of a packed dataset
    }
    if (map.is_object()) {
      for (const auto& [key, value] : map.as_members("the map")) entries.push_back(class_of_member(key, value));
      return entries;
    }
    for (const Json& name : map.as_list("the map")) {
      entries.emplace_back(name.as_bytes("a class name"), static_cast<std::int64_t>(entries.size()));
    }
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("not a class map: {}", error.message()),
                {.path = path, .hint = error.context().hint});
  }
  return entries;
}

/// The file to read: the manifest of a directory.
std::string class_map_file(const std::string& given) {
  struct stat info {};
  const bool is_directory = stat_long_path(given, info) == 0 && S_ISDIR(info.st_mode);
  return is_directory ? join_path(given, k_manifest_name) : given;
}

}  // namespace

ClassMap ClassMap::load(const std::string& given) {
  const std::string path = class_map_file(given);
  const std::vector<std::byte> content = read_file(path, k_max_file_bytes);
  std::string_view text = as_text(content);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ClassMap map(path);
  if (path.ends_with(".yaml") || path.ends_with(".yml")) {
    std::int64_t next = 0;
    for (const std::string& name : parse_data_yaml(text, path).names) map.add(name, next++, 0);
    return map;
  }
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
  std::vector<Line> all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    require_utf8(line, path_, number);
    const bool says_delimiter = number == 1 && delimiter_said_in(line);
    if (line = stripped(line); !line.empty() && !says_delimiter) all.push_back({line, number});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::span<const Line> lines = std::span<const Line>(all).subspan(has_header(all) ? 1 : 0);
  std::vector<NameAndIndex> entries = split_all(lines, index_then_name);
  if (!are_numbered(entries)) {
    std::vector<NameAndIndex> others = split_all(lines, name_then_index);
    if (!others.empty()) entries = std::move(others);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!entries.empty()) {
      add(std::move(entries[i].name), entries[i].index, lines[i].number);
    } else {
      const std::string_view id = id_of(lines[i].text);
      add(id.empty() ? unquoted(lines[i].text) : std::string(id), static_cast<std::int64_t>(i), lines[i].number);
    }
  }
}

void ClassMap::add(std::string name, std::int64_t label, std::size_t line) {
  const auto refuse = [&](std::string_view why) {
    const std::string where = line == 0 ? std::string() : fmt::format("line {}: ", line);
    throw Error(ErrorCode::invalid_argument, fmt::format("{}class \"{}\" {}", where, printable(name), why),
                {.path = path_, .hint = "write one \"name index\" per line, or a JSON object"});
  };
  if (name.empty()) return;  // a number without a class
  if (labels_.empty()) first_ = name;
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

bool ClassMap::has(std::int64_t label) const {
  return label >= 0 && static_cast<std::uint64_t>(label) < classes_.size() &&
         !classes_[static_cast<std::size_t>(label)].empty();
}

std::string ClassMap::shown() const {
  return fmt::format("the class map {}, which begins with \"{}\"", printable(path_), printable(first_));
}

std::int64_t ClassMap::label(std::string_view name, const std::string& where) const {
  if (const auto label = find(name)) return *label;
  throw Error(ErrorCode::invalid_argument, fmt::format("class \"{}\" is not in {}", printable(name), shown()),
              {.path = where, .hint = "add it to the map, or leave its samples out"});
}

}  // namespace bale
