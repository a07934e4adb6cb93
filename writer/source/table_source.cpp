// CSV, TSV and JSONL: one path and one label per row. The other columns become the sample's `json` field, which is read
// from the table again when the sample is read.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/class_map.hpp"
#include "bale/writer/source/integer_text.hpp"
#include "bale/writer/source/listed_files.hpp"
#include "bale/writer/source/listed_text.hpp"
#include "bale/writer/source/option_use.hpp"
#include "bale/writer/source/python_order.hpp"
#include "bale/writer/source/record_reader.hpp"
#include "bale/writer/source/table_rows.hpp"

namespace bale {
namespace {

struct Record {
  std::uint64_t offset;
  std::uint32_t bytes;
};

struct Table {
  TableColumns columns;
  FileListing listing{};
  std::vector<Record> records{};  // of the samples; empty if no row has more than path and label
};

class TableSource : public FileSource {
 public:
  TableSource(ListedText file, Table table)
      : FileSource(std::move(table.listing),
                   table.records.empty() ? std::vector<std::string>() : std::vector<std::string>{"json"}),
        file_(std::move(file)),
        columns_(std::move(table.columns)),
        records_(std::move(table.records)) {}

 protected:
  std::uint64_t extra_bytes(std::uint64_t i, std::size_t) const override { return records_[i].bytes; }
  void append_extra(std::uint64_t i, std::size_t, const SampleView&, std::string& out) const override {
    try {
      out += columns_.extra_json(file_.read(records_[i].offset, records_[i].bytes));
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw Error(error.code(), fmt::format("its row in the table: {}", error.message()), {.path = origin(i)});
    }
  }
  void append_extra_identity(std::uint64_t i, std::string& out) const override {
    out += file_.read(records_[i].offset, records_[i].bytes);
  }

 private:
  ListedText file_;
  TableColumns columns_;
  std::vector<Record> records_;
};

class TableLister {
 public:
  TableLister(const std::string& path, TableColumns::Kind kind, const SourceOptions& options)
      : path_(path), kind_(kind), options_(options) {
    if (!options.class_map.empty()) map_ = ClassMap::load(options.class_map);
  }

  Table list() {
    std::optional<Table> table = pass();
    if (!table) {
      labels_are_text_ = true;
      table = pass();
    }
    if (labels_are_text_) {
      name_classes(table->listing);
    } else if (map_) {
      table->listing.classes = map_->classes();
    }
    const auto& rows = table->listing.rows.samples();
    const bool is_labeled = std::any_of(rows.begin(), rows.end(), [](const FileRow& row) { return row.label != k_no_label; });
    tell_unused_options(options_,
                        {"pair", "pair_path", "root", "path_column", "flat", "list_jobs",
                         options_.flat ? "" : "label_column", is_labeled ? "class_map" : ""},
                        is_labeled ? "this is a table" : "the images of the table get no labels", path_,
                        table->listing.notices);
    return std::move(*table);
  }

 private:
  /// Reads the whole table. Returns nullopt if a label is text, so that all labels must be read as text.
  std::optional<Table> pass() {
    Table table{.columns = TableColumns(kind_, options_)};
    std::string root = options_.root.empty() ? parent_directory(path_) : options_.root;
    ListedFiles files(options_, root == "." ? "" : std::move(root));
    RecordReader reader(path_, kind_ == TableColumns::Kind::csv   ? RecordKind::csv
                               : kind_ == TableColumns::Kind::tsv ? RecordKind::tsv
                                                                  : RecordKind::lines);
    bool has_extra = false;
    std::uint64_t line = 1;
    try {
      if (kind_ != TableColumns::Kind::jsonl && reader.next()) table.columns.set_header(reader.record());
      while (reader.next()) {
        line = reader.line();
        if (reader.record().empty()) continue;
        const TableRow row = table.columns.parse(reader.record());
        FileRow* const added = add(files, row.path, line);
        if (added == nullptr) continue;
        table.records.push_back({reader.offset(), static_cast<std::uint32_t>(reader.record().size())});
        has_extra = has_extra || row.has_extra;
        if (row.label && !options_.flat && !set_label(*added, *row.label)) return std::nullopt;
      }
    } catch (const Error& error) {
      rethrow_at_line(error, path_, line);
    }
    files.require_samples(path_, "the table names no image", {});
    table.listing = files.finish(path_);
    if (!has_extra) table.records = {};
    return table;
  }

  FileRow* add(ListedFiles& files, const std::string& path, std::uint64_t line) const {
    try {
      return files.add(path);
    } catch (const Error& error) {
      files.lose(error, path_, line);
      return nullptr;
    }
  }

  /// Returns false if the label is text but this pass expects integers.
  bool set_label(FileRow& row, const std::string& text) {
    if (map_) {
      if (const auto label = map_->find(text)) {
        row.label = *label;
        return true;
      }
    }
    if (!labels_are_text_) {
      if (const auto integer = parse_integer(text)) {
        row.label = *integer;
        return true;
      }
      if (map_) row.label = map_->label(text, {});
      return false;
    }
    row.label = static_cast<std::int64_t>(names_.try_emplace(text, names_.size()).first->second);
    return true;
  }

  /// Renumbers the labels from order of appearance to the sort order of their names.
  void name_classes(FileListing& listing) {
    std::vector<std::string> met(names_.size());
    for (const auto& [name, number] : names_) met[number] = name;
    listing.classes = met;
    std::sort(listing.classes.begin(), listing.classes.end(), python_less);
    std::vector<std::int64_t> label_of;
    for (const std::string& name : met) {
      label_of.push_back(std::lower_bound(listing.classes.begin(), listing.classes.end(), name, python_less) -
                         listing.classes.begin());
    }
    for (FileRow& row : listing.rows.samples()) {
      if (row.label != k_no_label) row.label = label_of[static_cast<std::size_t>(row.label)];
    }
  }

  std::string path_;
  TableColumns::Kind kind_;
  const SourceOptions& options_;
  std::optional<ClassMap> map_;
  bool labels_are_text_ = false;
  std::map<std::string, std::size_t> names_;  // in text mode: number in order of appearance
};

}  // namespace

std::unique_ptr<Source> open_table_source(const std::string& path, const SourceOptions& options) {
  const auto kind = TableColumns::kind_of(path);
  if (!kind) {
    throw Error(ErrorCode::invalid_argument, "not a table by its name",
                {.path = path, .hint = "tables end in .csv, .tsv or .jsonl"});
  }
  ListedText file(path, "table");
  return std::make_unique<TableSource>(std::move(file), TableLister(path, *kind, options).list());
}

}  // namespace bale
