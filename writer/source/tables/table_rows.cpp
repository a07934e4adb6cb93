#include "bale/writer/source/tables/table_rows.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::array<std::string_view, 8> k_path_names{"path",  "file_name",  "filename", "file",
                                                       "image", "image_path", "filepath", "image_name"};

/// Position of the column that `is_it`. Throws if there are two.
template <typename NameAt, typename IsIt>
std::optional<std::size_t> only(std::size_t count, NameAt name_at, const IsIt& is_it, std::string_view option) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_it(name_at(i))) continue;
    if (!found) {
      found = i;
      continue;
    }
    const bool is_same = name_at(*found) == name_at(i);
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("two columns are named \"{}\"{}", printable(name_at(*found)),
                    is_same ? "" : fmt::format(" and \"{}\"", printable(name_at(i)))),
        {.hint = is_same ? "rename the one that is not meant" : fmt::format("name the right one with {}", option)});
  }
  return found;
}

/// Position of the column `wanted`; if that is empty, of the first of the `usual` names that exists. Throws if two
/// columns have that name.
template <typename NameAt>
std::optional<std::size_t> pick(std::size_t count, NameAt name_at, const std::string& wanted,
                                std::span<const std::string_view> usual, std::string_view option) {
  if (!wanted.empty())
    return only(
        count, name_at, [&](const std::string& name) { return name == wanted; }, option);
  for (const std::string_view one : usual) {
    const auto found = only(
        count, name_at, [&](const std::string& name) { return lower_case(name) == one; }, option);
    if (found) return found;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_columns(std::string_view what, const std::string& wanted, std::string_view option,
                                 const std::string& known) {
  const std::string which = wanted.empty() ? fmt::format("a {}", what) : fmt::format("\"{}\"", printable(wanted));
  throw Error(ErrorCode::invalid_argument, fmt::format("no column for {}; there are: {}", which, known),
              {.hint = fmt::format("name it with {}", option)});
}

[[noreturn]] void refuse_pattern(const std::string& pattern, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("`path_pattern`: \"{}\" {}", printable(pattern), why),
              {.hint = "name columns in braces, for example `path_pattern` 'train/{id}.jpg'"});
}

/// Text, or the digits of a number; nullopt for anything else.
std::optional<std::string> cell_of(const Json& value) {
  if (value.is_text()) return value.as_text("a cell");
  return value.is_number() ? std::optional(value.dump()) : std::nullopt;
}

/// The members of a JSON row, and which of them are path and label.
struct JsonRow {
  JsonRow(std::string_view record, const SourceOptions& options) : object(parse_json(record)) {
    const auto name_at = [&](std::size_t i) -> const std::string& { return members()[i].name; };
    path = pick(members().size(), name_at, options.path_column, k_path_names, "`path_column`");
    if (options.flat) return;
    label = pick(members().size(), name_at, options.label_column, k_label_columns, "`label_column`");
  }

  const std::vector<Json::Member>& members() const { return object.as_members("the row"); }

  Json object;
  std::optional<std::size_t> path;
  std::optional<std::size_t> label;
};

}  // namespace

std::optional<TableColumns::Kind> TableColumns::kind_of(const std::string& path) {
  const std::string name = lower_case(path);
  if (name.ends_with(".csv")) return Kind::csv;
  if (name.ends_with(".tsv")) return Kind::tsv;
  if (name.ends_with(".jsonl")) return Kind::jsonl;
  return std::nullopt;
}

TableColumns::TableColumns(Kind kind, const SourceOptions& options) : kind_(kind), options_(options) {
  if (!options.path_pattern.empty()) parse_pattern();
}

void TableColumns::parse_pattern() {
  const std::string& pattern = options_.path_pattern;
  if (!options_.path_column.empty()) refuse_pattern(pattern, "excludes `path_column`");
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::size_t open = std::min(rest.find('{'), rest.size());
    if (open > 0) pattern_.push_back({.text = std::string(rest.substr(0, open))});
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos || close == 1)
      refuse_pattern(pattern, "has braces without the name of a column");
    pattern_.push_back({.text = std::string(rest.substr(1, close - 1)), .is_column = true});
    rest.remove_prefix(close + 1);
  }
  if (std::none_of(pattern_.begin(), pattern_.end(), [](const PatternPart& part) { return part.is_column; })) {
    refuse_pattern(pattern, "names no column, so all rows would have one file");
  }
}

bool TableColumns::is_in_pattern(std::string_view column) const {
  return std::any_of(pattern_.begin(), pattern_.end(),
                     [&](const PatternPart& part) { return part.is_column && part.text == column; });
}

template <typename CellOf>
std::string TableColumns::filled_pattern(const CellOf& cell_of) const {
  std::string path;
  for (const PatternPart& part : pattern_) {
    const std::string cell = part.is_column ? std::string(stripped(cell_of(part))) : part.text;
    if (cell.empty())
      throw Error(ErrorCode::invalid_argument, fmt::format("no value in the column \"{}\"", printable(part.text)));
    path += cell;
  }
  return path;
}

/// In tables such as Flickr30k's, "a.jpg| 0| text .", blanks stand on both sides and quotes are text.
void TableColumns::split(std::string_view record, std::vector<std::string>& cells) const {
  const bool has_blanks_around = skips_spaces_ && delimiter_ == '|';
  split_cells(record, delimiter_, cells, skips_spaces_ && !has_blanks_around);
  if (!has_blanks_around) return;
  for (std::string& cell : cells) cell = std::string(stripped(cell));
}

void TableColumns::set_header(std::string_view record, char delimiter) {
  require_utf8(record);
  delimiter_ = delimiter;
  split(record, header_);
  for (std::size_t i = 0; i < header_.size(); ++i) {
    skips_spaces_ = skips_spaces_ || (i > 0 && header_[i].starts_with(' '));
  }
  split(record, header_);
  for (std::string& name : header_) {
    name = std::string(stripped(name));
    if (name.size() > 1 && name.starts_with('"') && name.ends_with('"')) name = name.substr(1, name.size() - 2);
  }
  const auto name_at = [&](std::size_t i) -> const std::string& { return header_[i]; };
  for (PatternPart& part : pattern_) {
    if (!part.is_column) continue;
    const auto column = pick(header_.size(), name_at, part.text, {}, "`path_pattern`");
    if (!column) refuse_columns("path", part.text, "`path_pattern`", column_names());
    part.column = *column;
  }
  const auto path = pattern_.empty()
                        ? pick(header_.size(), name_at, options_.path_column, k_path_names, "`path_column`")
                        : std::optional(header_.size());
  if (!path && options_.path_column.empty() && std::any_of(header_.begin(), header_.end(), is_image_name)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("no column for a path, but the names of images, as in a row; there are: {}", column_names()),
        {.hint = fmt::format("{}, or name a column with `path_column`", k_name_columns)});
  }
  if (!path) {
    refuse_columns("path", options_.path_column,
                   "`path_column`, or make it of columns with `path_pattern`, such as '{id}.jpg'", column_names());
  }
  path_column_ = *path;
  if (!options_.flat)
    label_column_ = pick(header_.size(), name_at, options_.label_column, k_label_columns, "`label_column`");
  if (!options_.flat && !label_column_ && !options_.label_column.empty()) {
    refuse_columns("label", options_.label_column, "`label_column`", column_names());
  }
  if (label_column_) label_name_ = header_[*label_column_];
  tell_apart(header_);
}

std::string TableColumns::column_names() const {
  std::string known;
  for (const std::string& name : header_) known += (known.empty() ? "" : ", ") + printable(name);
  return known;
}

TableRow TableColumns::parse(std::string_view record) {
  TableRow row;
  if (kind_ != Kind::jsonl) {
    std::vector<std::string> cells;
    split(record, cells);
    if (cells.size() != header_.size()) {
      throw Error(ErrorCode::damaged, fmt::format("{} cells, but the header has {}", cells.size(), header_.size()));
    }
    if (label_column_) {
      require_utf8(cells[*label_column_]);
      row.label = stripped(cells[*label_column_]);
    }
    row.path = pattern_.empty()
                   ? std::move(cells[path_column_])
                   : filled_pattern([&](const PatternPart& part) -> const std::string& { return cells[part.column]; });
    for (std::size_t i = 0; i < header_.size() && !row.has_extra; ++i) row.has_extra = is_extra(i);
    return row;
  }
  const JsonRow json(record, options_);
  const auto text_of = [](const Json& value) {
    return value.kind() == Json::Kind::real ? std::nullopt : cell_of(value);
  };
  if (pattern_.empty()) {
    std::optional<std::string> path = json.path ? text_of(json.members()[*json.path].value) : std::nullopt;
    if (!path) {
      throw Error(
          ErrorCode::invalid_argument, "no path in the object",
          {.hint =
               "name its column with `path_column`, or make it of columns with `path_pattern`, such as '{id}.jpg'"});
    }
    row.path = std::move(*path);
  } else {
    row.path = filled_pattern([&](const PatternPart& part) {
      const Json* const value = json.object.find(part.text);
      return value == nullptr ? std::string() : text_of(*value).value_or("");
    });
  }
  row.has_extra = std::any_of(json.members().begin(), json.members().end(), [&](const Json::Member& member) {
    const auto at = static_cast<std::size_t>(&member - json.members().data());
    return is_extra_member(json.path, json.label, at, member.name);
  });
  if (header_.empty()) {
    for (const Json::Member& member : json.members()) header_.push_back(member.name);
  }
  if (!json.label) return row;
  const Json::Member& member = json.members()[*json.label];
  label_name_ = options_.label_column = member.name;
  if (member.value.is_null()) return row;
  const std::optional<std::string> cell = cell_of(member.value);
  if (!cell) {
    throw Error(ErrorCode::invalid_argument, "the label is neither a number nor text",
                {.hint = "name another column with `label_column`"});
  }
  row.label = stripped(*cell);
  return row;
}

std::string TableColumns::extra_json(std::string_view record) const {
  if (kind_ == Kind::jsonl) {
    const JsonRow json(record, options_);
    Json rest = json.object;
    for (std::size_t at = 0; at < json.members().size(); ++at) {
      const std::string& name = json.members()[at].name;
      if (!is_extra_member(json.path, json.label, at, name)) rest.erase(name);
    }
    return rest.dump();
  }
  std::vector<std::string> cells;
  split(record, cells);
  std::map<std::string_view, std::string_view> members;
  for (std::size_t i = 0; i < std::min(cells.size(), header_.size()); ++i) {
    if (is_extra(i)) members[header_[i]] = cells[i];
  }
  return Json::object_of(members).dump();
}

}  // namespace bale
