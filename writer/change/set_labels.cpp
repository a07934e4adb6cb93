// Edit::set_labels(): corrects labels by a table.
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/writer/change/keyed_rows.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/edit.hpp"

namespace bale {
namespace {

class ClassTable {
 public:
  explicit ClassTable(const std::vector<std::string>& classes) : num_classes_(classes.size()) {
    for (std::size_t number = 0; number < classes.size(); ++number) {
      if (!classes[number].empty()) numbers_.emplace(classes[number], static_cast<std::int64_t>(number));
    }
  }

  std::int64_t number_of(const std::string& text, bool may_be_name) const {
    auto named = may_be_name ? numbers_.find(text) : numbers_.end();
    if (may_be_name && named == numbers_.end()) {
      named = numbers_.find(std::string(stripped(text)));  // as tables are packed
    }
    if (named != numbers_.end()) return named->second;
    const std::int64_t number = parse_label(as_bytes(text));
    if (number != k_no_label &&
        (num_classes_ == 0 || (number >= 0 && static_cast<std::uint64_t>(number) < num_classes_)))
      return number;
    throw Error(ErrorCode::invalid_argument, fmt::format("the dataset has no class \"{}\"", printable(text)),
                {.hint = num_classes_ == 0 ? "its classes are numbers"
                                           : "`bale inspect` lists its classes; `bale add` adds new ones"});
  }

 private:
  std::map<std::string, std::int64_t> numbers_;  // by name
  std::size_t num_classes_;
};

KeyedRows labels_of(const std::string& path, const ClassTable& classes) {
  KeyedRows rows;
  const std::string column = "label";
  read_keyed_table(path, std::span(&column, 1), false, [&](KeyedCell& cell) {
    const std::int64_t label = classes.number_of(cell.text, cell.json == nullptr);
    const std::string key = cell.key;
    const KeyedRows::Row* const known = rows.add(std::move(cell.key), label, cell.line);
    if (known == nullptr || known->value == label) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("another label of \"{}\" than in line {}", printed_key(key), known->line),
                {.hint = "leave one of them out"});
  });
  return rows;
}

}  // namespace

ChangeReport Edit::set_labels(const LabelChoice& choice, Progress& progress) {
  LayerChange& change = this->change();
  KeyedRows table = labels_of(choice.table, ClassTable(change.classes()));
  PendingLayer layer{.kind = LayerKind::label};
  const std::uint64_t num_unchanged = change.fill(
      layer, table, choice.table, choice.needs_all,
      [](std::size_t, const ShardIndex& index, std::uint32_t row, std::int64_t label) {
        return index.label(row) == label;
      },
      progress);
  table.require_found(
      change.directory(), [&](const KeyedRows::Row&) { return choice.table; },
      [&](const std::string& key) { return change.hint_of_missing(key); });
  ChangeReport report = change.add(std::move(layer));
  report.num_unchanged = num_unchanged;
  return report;
}

}  // namespace bale
