#include "bale/writer/change/keyed_rows.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

constexpr std::string_view k_key_column = "key";

[[noreturn]] void refuse_table(std::string why, std::string hint) {
  throw Error(ErrorCode::invalid_argument, std::move(why), {.hint = std::move(hint)});
}

/// Which of the columns `names` has the values.
std::size_t value_column(const std::vector<std::string>& names, std::span<const std::string> columns, bool takes_any) {
  const bool has_key = std::find(names.begin(), names.end(), k_key_column) != names.end();
  for (const std::string& column : columns) {
    const auto found = std::find(names.begin(), names.end(), column);
    if (has_key && found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  if (has_key && takes_any && names.size() == 2) return names.front() == k_key_column ? 1 : 0;
  refuse_table(fmt::format("the table needs the columns key and {}", joined(columns, " or ")),
               "its first line names them; of JSONL, each line does");
}

void read_cells(RecordReader& records, std::span<const std::string> columns, bool takes_any,
                const std::function<void(KeyedCell& cell)>& take) {
  std::vector<std::string> cells;
  if (records.next()) split_cells(records.record(), records.delimiter(), cells, true);
  const std::size_t value = value_column(cells, columns, takes_any);
  const auto key = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), k_key_column) - cells.begin());
  while (records.next()) {
    if (records.record().empty()) continue;
    split_cells(records.record(), records.delimiter(), cells, true);
    if (cells.size() <= std::max(key, value)) refuse_table("has too few cells", "give a key and a value");
    require_utf8(cells[value]);
    KeyedCell cell{.key = read_key(cells[key]), .text = std::move(cells[value]), .line = records.line()};
    take(cell);
  }
}

void read_objects(RecordReader& records, std::span<const std::string> columns, bool takes_any,
                  const std::function<void(KeyedCell& cell)>& take) {
  std::vector<std::string> names;
  while (records.next()) {
    if (records.record().empty()) continue;
    const Json object = parse_json(records.record());
    names.clear();
    for (const Json::Member& member : object.as_members("a line")) names.push_back(member.name);
    const Json& found = object.as_members("a line")[value_column(names, columns, takes_any)].value;
    KeyedCell cell{.key = read_key(object.text(k_key_column)), .line = records.line()};
    if (found.is_text()) {
      cell.text = found.as_text("a value");
    } else {
      cell.text = found.dump();
      cell.json = &found;
    }
    take(cell);
  }
}

}  // namespace

const KeyedRows::Row* KeyedRows::add(std::string key, std::int64_t value, std::uint64_t line) {
  const auto [row, is_new] = rows_.try_emplace(std::move(key), Row{.value = value, .line = line});
  return is_new ? nullptr : &row->second;
}

const KeyedRows::Row* KeyedRows::find(std::string_view key) {
  const auto found = rows_.find(std::string(key));
  if (found == rows_.end()) return nullptr;
  found->second.is_found = true;
  return &found->second;
}

void KeyedRows::require_found(const std::string& directory, const std::function<std::string(const Row&)>& path_of,
                              const std::function<std::string(const std::string& key)>& hint_of) const {
  const std::pair<const std::string, Row>* first = nullptr;
  std::uint64_t num_missing = 0;
  for (const auto& row : rows_) {
    if (row.second.is_found) continue;
    ++num_missing;
    const auto order = [](const auto& of) { return std::pair(of.second.line, std::string_view(of.first)); };
    if (first == nullptr || order(row) < order(*first)) first = &row;
  }
  if (first == nullptr) return;
  const std::uint64_t line = first->second.line;
  const std::string more = num_missing == 1 ? "" : fmt::format(", nor {} more of them", num_missing - 1);
  throw Error(ErrorCode::not_found,
              fmt::format("{}the dataset {} does not have this key{}", line == 0 ? "" : fmt::format("line {}: ", line),
                          shown_name(directory), more),
              {.path = path_of(first->second), .key = first->first, .hint = hint_of(first->first)});
}

void refuse_missing(std::string_view key, const std::string& path) {
  throw Error(ErrorCode::invalid_argument, "does not have this sample of the dataset",
              {.path = path, .key = std::string(key), .hint = "add it, or keep what the sample has with `missing`"});
}

void read_keyed_table(const std::string& path, std::span<const std::string> columns, bool takes_any,
                      const std::function<void(KeyedCell& cell)>& take) {
  const bool is_tsv = path.ends_with(".tsv");
  const bool is_json = path.ends_with(".jsonl");
  RecordReader records(path, is_json ? RecordKind::lines : is_tsv ? RecordKind::tsv : RecordKind::csv);
  try {
    if (is_json) {
      read_objects(records, columns, takes_any, take);
    } else {
      read_cells(records, columns, takes_any, take);
    }
  } catch (const Error& error) {
    rethrow_at_line(error, path, records.line());
  }
}

}  // namespace bale
