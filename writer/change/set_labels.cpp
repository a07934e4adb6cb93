// set_labels(): corrects labels by a table.
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

class LabelTable {
 public:
  struct Row {
    std::int64_t label = 0;
    std::uint64_t line = 0;
    bool is_found = false;
  };

  LabelTable(const std::string& path, const std::vector<std::string>& classes) : path_(path) {
    for (std::size_t number = 0; number < classes.size(); ++number) {
      if (!classes[number].empty()) numbers_.emplace(classes[number], static_cast<std::int64_t>(number));
    }
    num_classes_ = classes.size();
    RecordReader records(path, path.ends_with(".tsv") ? RecordKind::tsv : RecordKind::csv);
    try {
      read(records, path.ends_with(".tsv") ? '\t' : ',');
    } catch (const Error& error) {
      rethrow_at_line(error, path, records.line());
    }
  }

  Row* find(std::string_view key) {
    const auto found = rows_.find(std::string(key));
    return found == rows_.end() ? nullptr : &found->second;
  }

  /// Throws `not_found` for a key that was not asked for.
  void require_found(const std::string& directory) const {
    const std::pair<const std::string, Row>* first = nullptr;
    std::uint64_t num_missing = 0;
    for (const auto& row : rows_) {
      if (row.second.is_found) continue;
      ++num_missing;
      if (first == nullptr || row.second.line < first->second.line) first = &row;
    }
    if (first == nullptr) return;
    const std::string more = num_missing == 1 ? "" : fmt::format(", nor {} more of the table", num_missing - 1);
    throw Error(ErrorCode::not_found,
                fmt::format("line {}: the dataset {} does not have this key{}", first->second.line,
                            shown_name(directory), more),
                {.path = path_, .key = first->first, .hint = "`bale ls` lists the keys"});
  }

 private:
  [[noreturn]] static void refuse(std::string why, std::string hint) {
    throw Error(ErrorCode::invalid_argument, std::move(why), {.hint = std::move(hint)});
  }

  void read(RecordReader& records, char delimiter) {
    std::optional<std::size_t> key_column;
    std::optional<std::size_t> label_column;
    std::vector<std::string> cells;
    if (records.next()) {
      if (delimiter == ',') delimiter = delimiter_of(records.record());
      records.set_delimiter(delimiter);
      split_cells(records.record(), delimiter, cells, true);
      for (std::size_t column = 0; column < cells.size(); ++column) {
        if (cells[column] == "key") key_column = column;
        if (cells[column] == "label") label_column = column;
      }
    }
    if (!key_column || !label_column)
      refuse("a table of labels needs the columns key and label", "its first line names them");
    while (records.next()) {
      if (records.record().empty()) continue;
      split_cells(records.record(), delimiter, cells, true);
      if (cells.size() <= std::max(*key_column, *label_column)) refuse("has too few cells", "give a key and a label");
      const std::int64_t label = number_of(cells[*label_column]);
      const auto [row, is_new] =
          rows_.try_emplace(read_key(cells[*key_column]), Row{.label = label, .line = records.line()});
      if (!is_new && row->second.label != label) {
        refuse(fmt::format("another label of \"{}\" than in line {}", printed_key(row->first), row->second.line),
               "leave one of them out");
      }
    }
  }

  std::int64_t number_of(const std::string& text) const {
    if (const auto named = numbers_.find(text); named != numbers_.end()) return named->second;
    const std::int64_t number = parse_label(as_bytes(text));
    if (number != k_no_label &&
        (num_classes_ == 0 || (number >= 0 && static_cast<std::uint64_t>(number) < num_classes_)))
      return number;
    refuse(
        fmt::format("the dataset has no class \"{}\"", printable(text)),
        num_classes_ == 0 ? "its classes are numbers" : "`bale inspect` lists its classes; `bale add` adds new ones");
  }

  std::string path_;
  std::map<std::string, std::int64_t> numbers_;  // of the classes by name
  std::size_t num_classes_ = 0;
  std::unordered_map<std::string, Row> rows_;
};

}  // namespace

ChangeReport set_labels(const LabelChoice& choice, const ChangeOptions& options, Progress& progress) {
  LayerChange change("set", LayerKind::label, options);
  const Dataset& dataset = change.dataset();
  LabelTable table(choice.table, change.base().classes);
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    progress.throw_if_stopped();
    const IndexInUse index = dataset.use_index(shard);
    std::vector<std::uint32_t> rows;
    std::vector<std::int64_t> labels;
    for (std::uint32_t row = 0; row < index->size(); ++row) {
      LabelTable::Row* const wanted = table.find(index->key(row));
      if (wanted == nullptr && choice.needs_all) {
        throw Error(ErrorCode::invalid_argument, "the table does not have this sample of the dataset",
                    {.path = choice.table,
                     .key = std::string(index->key(row)),
                     .hint = "add it, or keep its label with `missing`"});
      }
      if (wanted == nullptr) continue;
      wanted->is_found = true;
      if (wanted->label == index->label(row)) {
        ++change.report().num_unchanged;
        continue;
      }
      rows.push_back(row);
      labels.push_back(wanted->label);
    }
    change.add(shard, rows, labels);
    ++progress.shards;
  }
  table.require_found(options.destination);
  return change.publish();
}

}  // namespace bale
