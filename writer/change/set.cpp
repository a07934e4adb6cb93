// Edit::set_field() and set_labels(): give samples values of a field, or other labels, without writing shards.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/change/field_values.hpp"
#include "bale/writer/change/keyed_rows.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/edit.hpp"

namespace bale {
namespace {

void require_name(const std::string& field, const Manifest& manifest) {
  const auto refuse = [&](std::string_view why, std::string hint) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the field \"{}\" {}", printable(field), why),
                {.hint = std::move(hint)});
  };
  if (field == k_label_field) refuse("is the label", "give label=FILE with a table of keys and labels");
  if (!is_field_name(field) || printable(field) != field) refuse("is not a name for new values", "give NAME.EXT=FILE");
  if (field_name(field) == "jpg" && field != "jpg") refuse("is called jpg in a packed dataset", "give jpg=FOLDER");
  const std::string why =
      why_stored_name_is_refused(find_format(manifest.format, manifest.layout).format->field_rule, field);
  if (!why.empty()) refuse(fmt::format("is not one that shards of {} can hold: {}", manifest.format, why), {});
}

/// Whether the sample has exactly this value.
class ValueComparison {
 public:
  ValueComparison(const Dataset& dataset, const std::string& field, Bytes prefix)
      : dataset_(dataset), field_(field), prefix_(prefix) {}

  template <typename Read>
  bool is_same(std::size_t shard, const ShardIndex& index, std::uint32_t row, const Read& read) {
    const std::optional<std::uint32_t> id = index.field_id(field_);
    const Extent extent = id ? index.extent(row, *id) : Extent{};
    if (!extent.present()) return false;
    const Bytes value = read();
    if (index.has_checksums() && crc32c(value, crc32c(prefix_)) != extent.crc32c) return false;
    const ShardInUse used = dataset_.use_shard(shard);
    Bytes known;
    try {
      known = used->read_field(row, field_, scratch_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      return false;  // a new value takes the place of a damaged one
    }
    return known.size() == prefix_.size() + value.size() && std::equal(prefix_.begin(), prefix_.end(), known.begin()) &&
           std::equal(value.begin(), value.end(), known.begin() + static_cast<std::ptrdiff_t>(prefix_.size()));
  }

 private:
  const Dataset& dataset_;
  const std::string& field_;
  Bytes prefix_;
  Scratch scratch_;
};

}  // namespace

ChangeReport Edit::set_field(const FieldChoice& choice, Progress& progress) {
  LayerChange& change = this->change();
  require_name(choice.field, change.base());
  std::shared_ptr<FieldValues> values = FieldValues::open(choice);
  ValueComparison comparison(change.dataset(), choice.field, values->prefix());
  PendingLayer layer{.kind = LayerKind::field, .field = choice.field, .sources = {values}};
  const std::uint64_t num_unchanged = change.fill(
      layer, values->rows(), choice.from, choice.needs_all,
      [&](std::size_t shard, const ShardIndex& index, std::uint32_t row, std::int64_t number) {
        return comparison.is_same(shard, index, row, [&] { return values->read(number); });
      },
      progress);
  values->rows().require_found(
      change.directory(), [&](const KeyedRows::Row& row) { return values->path_of(row.value); },
      [&](const std::string& key) { return change.hint_of_missing(key); });
  values->rows() = {};
  ChangeReport report = change.add(std::move(layer));
  report.num_unchanged = num_unchanged;
  return report;
}

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
