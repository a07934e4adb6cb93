// set_labels(): corrects labels by a table.
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/keyed_rows.hpp"
#include "bale/writer/change/layer_change.hpp"

namespace bale {
namespace {

class ClassTable {
 public:
  explicit ClassTable(const std::vector<std::string>& classes) : num_classes_(classes.size()) {
    for (std::size_t number = 0; number < classes.size(); ++number) {
      if (!classes[number].empty()) numbers_.emplace(classes[number], static_cast<std::int64_t>(number));
    }
  }

  std::int64_t number_of(const std::string& text) const {
    if (const auto named = numbers_.find(text); named != numbers_.end()) return named->second;
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
    const std::int64_t label = classes.number_of(cell.text);
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

ChangeReport set_labels(const LabelChoice& choice, const ChangeOptions& options, Progress& progress) {
  LayerChange change("set", LayerKind::label, options);
  const Dataset& dataset = change.dataset();
  KeyedRows table = labels_of(choice.table, ClassTable(change.base().classes));
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    progress.throw_if_stopped();
    const IndexInUse index = dataset.use_index(shard);
    std::vector<std::uint32_t> rows;
    std::vector<std::int64_t> labels;
    for (std::uint32_t row = 0; row < index->size(); ++row) {
      const KeyedRows::Row* const wanted = table.find(index->key(row));
      if (wanted == nullptr && choice.needs_all) refuse_missing(index->key(row), choice.table);
      if (wanted == nullptr) continue;
      if (wanted->value == index->label(row)) {
        ++change.report().num_unchanged;
        continue;
      }
      rows.push_back(row);
      labels.push_back(wanted->value);
    }
    change.add(shard, rows, labels);
    ++progress.shards;
  }
  table.require_found(options.destination, [&](const KeyedRows::Row&) { return choice.table; });
  return change.publish();
}

}  // namespace bale
