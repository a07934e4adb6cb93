#include "bale/writer/source/table_rows.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/ascii_case.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/writer/source/record_reader.hpp"

namespace bale {
namespace {

constexpr std::array<std::string_view, 5> k_path_names{"path", "file_name", "filename", "file", "image"};
constexpr std::array<std::string_view, 4> k_label_names{"label", "class", "target", "y"};

/// Position of the column `wanted`; if that is empty, of the first of the `usual` names that exists.
template <typename NameAt>
std::optional<std::size_t> pick(std::size_t count, NameAt name_at, const std::string& wanted,
                                std::span<const std::string_view> usual) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!wanted.empty() && name_at(i) == wanted) return i;
  }
  if (!wanted.empty()) return std::nullopt;
  for (const std::string_view name : usual) {
    for (std::size_t i = 0; i < count; ++i) {
      if (lower_case(name_at(i)) == name) return i;
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse_columns(std::string_view what, const std::string& wanted, std::string_view option,
                                 const std::string& known) {
  const std::string which = wanted.empty() ? fmt::format("a {}", what) : fmt::format("\"{}\"", printable(wanted));
  throw Error(ErrorCode::invalid_argument, fmt::format("no column for {}; there are: {}", which, known),
              {.hint = fmt::format("name it with {}", option)});
}

/// Text, or the digits of a whole number; nullopt for anything else.
std::optional<std::string> cell_of(const Json& value) {
  if (value.is_text()) return value.as_text("a cell");
  return value.is_whole() ? std::optional(value.dump()) : std::nullopt;
}

/// The members of a JSON row, and which of them are path and label.
struct JsonRow {
  JsonRow(std::string_view record, const SourceOptions& options) : object(parse_json(record)) {
    const auto name_at = [&](std::size_t i) -> const std::string& { return members()[i].name; };
    path = pick(members().size(), name_at, options.path_column, k_path_names);
    label = pick(members().size(), name_at, options.label_column, k_label_names);
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

void TableColumns::set_header(std::string_view record) {
  split_cells(record, delimiter(), header_);
  const auto name_at = [&](std::size_t i) -> const std::string& { return header_[i]; };
  std::string known;
  for (const std::string& name : header_) known += (known.empty() ? "" : ", ") + printable(name);
  const auto path = pick(header_.size(), name_at, options_.path_column, k_path_names);
  if (!path) refuse_columns("path", options_.path_column, "`path_column`", known);
  path_column_ = *path;
  label_column_ = pick(header_.size(), name_at, options_.label_column, k_label_names);
  if (!label_column_ && !options_.label_column.empty()) {
    refuse_columns("label", options_.label_column, "`label_column`", known);
  }
}

TableRow TableColumns::parse(std::string_view record) const {
  TableRow row;
  if (kind_ != Kind::jsonl) {
    std::vector<std::string> cells;
    split_cells(record, delimiter(), cells);
    if (cells.size() != header_.size()) {
      throw Error(ErrorCode::damaged, fmt::format("{} cells, but the header has {}", cells.size(), header_.size()));
    }
    row.path = std::move(cells[path_column_]);
    if (label_column_ && !cells[*label_column_].empty()) row.label = std::move(cells[*label_column_]);
    row.has_extra = header_.size() > (label_column_ ? 2U : 1U);
    return row;
  }
  const JsonRow json(record, options_);
  std::optional<std::string> path = json.path ? cell_of(json.members()[*json.path].value) : std::nullopt;
  if (!path) {
    throw Error(ErrorCode::invalid_argument, "no path in the object", {.hint = "name its column with `path_column`"});
  }
  row.path = std::move(*path);
  if (json.label) {
    const Json& label = json.members()[*json.label].value;
    row.label = cell_of(label);
    if (!row.label && !label.is_null()) {
      throw Error(ErrorCode::invalid_argument, "the label is neither an integer nor text",
                  {.hint = "name another column with `label_column`"});
    }
    if (row.label == "") row.label.reset();
  }
  row.has_extra = json.members().size() > (json.label ? 2U : 1U);
  return row;
}

std::string TableColumns::extra_json(std::string_view record) const {
  if (kind_ == Kind::jsonl) {
    const JsonRow json(record, options_);
    Json rest = json.object;
    for (const auto& column : {json.path, json.label}) {
      if (column) rest.erase(json.members()[*column].name);
    }
    return rest.dump();
  }
  std::vector<std::string> cells;
  split_cells(record, delimiter(), cells);
  std::map<std::string_view, std::string_view> members;
  for (std::size_t i = 0; i < std::min(cells.size(), header_.size()); ++i) {
    if (i != path_column_ && i != label_column_) members[header_[i]] = cells[i];
  }
  return Json::object_of(members).dump();
}

}  // namespace bale
