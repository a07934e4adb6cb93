// CSV, TSV and JSONL: one path and one label per row. The other columns become the sample's `json` field, which is read
// from the table again when the sample is read.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/tables/listed_files.hpp"
#include "bale/writer/source/tables/record_reader.hpp"
#include "bale/writer/source/tables/table_rows.hpp"

namespace bale {
namespace {

constexpr std::size_t k_enough_images = 1000;  // to say that there are too many labels for them

struct Record {
  std::uint64_t offset;
  std::uint32_t bytes;
};

/// A further row of an image.
struct LaterRecord {
  std::size_t sample;
  Record record;
};

struct Table {
  TableColumns columns;
  FileListing listing{};
  std::vector<Record> records{};     // of the samples; empty if no row has more than path and label
  std::vector<LaterRecord> later{};  // by sample; if there are any, `json` is a list of all rows of an image
};

class TableSource : public FileSource {
 public:
  TableSource(ListedText file, Table table)
      : FileSource(std::move(table.listing),
                   table.records.empty() ? std::vector<std::string>() : std::vector<std::string>{"json"}),
        file_(std::move(file)),
        columns_(std::move(table.columns)),
        records_(std::move(table.records)),
        later_(std::move(table.later)) {}

 protected:
  std::uint64_t extra_bytes(std::uint64_t i, std::size_t) const override {
    std::uint64_t sum = 0;
    for_each_record(i, [&](const Record& record) { sum += record.bytes; });
    return sum;
  }
  void append_extra(std::uint64_t i, std::size_t, const SampleView&, std::string& out) const override {
    std::string text;
    try {
      char before = '[';
      for_each_record(i, [&](const Record& record) {
        if (!later_.empty()) out += std::exchange(before, ',');
        text = file_.read(record.offset, record.bytes);
        out += columns_.extra_json(text);
      });
      if (!later_.empty()) out += ']';
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw Error(error.code(), fmt::format("its row in the table: {}", error.message()),
                  {.path = origin(i), .hint = is_utf8(text) ? "" : k_utf8_hint});
    }
  }
  void append_extra_identity(std::uint64_t i, std::string& out) const override {
    for_each_record(i, [&](const Record& record) { out += file_.read(record.offset, record.bytes); });
  }

 private:
  template <typename Use>
  void for_each_record(std::uint64_t i, const Use& use) const {
    use(records_[i]);
    const auto is_before = [](const LaterRecord& later, std::uint64_t sample) { return later.sample < sample; };
    for (auto at = std::lower_bound(later_.begin(), later_.end(), i, is_before); at != later_.end() && at->sample == i;
         ++at) {
      use(at->record);
    }
  }

  ListedText file_;
  TableColumns columns_;
  std::vector<Record> records_;
  std::vector<LaterRecord> later_;
};

class TableLister {
 public:
  TableLister(const std::string& path, TableColumns::Kind kind, const SourceOptions& options)
      : path_(path), kind_(kind), options_(options), labels_(options) {}

  Table list() {
    Table table{.columns = TableColumns(kind_, options_)};
    std::string root = options_.root.empty() ? parent_directory(path_) : options_.root;
    ListedFiles files(options_, root == "." ? "" : std::move(root));
    RecordReader reader(path_, kind_ == TableColumns::Kind::csv   ? RecordKind::csv
                               : kind_ == TableColumns::Kind::tsv ? RecordKind::tsv
                                                                  : RecordKind::lines);
    bool has_extra = false;
    std::uint64_t line = 1;
    try {
      if (kind_ != TableColumns::Kind::jsonl && reader.next()) {
        line = reader.line();
        table.columns.set_header(reader.record(), reader.delimiter());
        const std::string path(stripped(table.columns.parse(reader.record()).path));
        if (options_.path_pattern.empty() && is_image_name(path) && files.is_there(path)) {
          throw Error(ErrorCode::invalid_argument,
                      fmt::format("\"{}\" is an image, so this line is a row and not the names of the columns",
                                  printable(path)),
                      {.hint = TableColumns::k_name_columns});
        }
      }
      while (reader.next()) {
        line = reader.line();
        if (reader.record().empty()) continue;
        const TableRow row = table.columns.parse(reader.record());
        const Record record{reader.offset(), static_cast<std::uint32_t>(reader.record().size())};
        const std::optional<ListedFiles::Place> place = or_lose(files, line, [&] { return files.place_of(row.path); });
        if (!place || (row.has_extra && add_to_earlier(files, row, *place, record, line, table))) continue;
        FileRow* const added = or_lose(files, line, [&] { return files.add(*place); }).value_or(nullptr);
        if (added == nullptr) continue;
        table.records.push_back(record);
        has_extra = has_extra || row.has_extra;
        added->label = word_of(row.label, line);
      }
    } catch (const Error& error) {
      rethrow_at_line(error, path_, line);
    }
    files.require_samples(path_, "the table names no image", {});
    table.listing = files.finish(path_);
    note_later_rows(table);
    if (!has_extra) table.records = {};
    set_labels(table, has_extra);
    const bool is_labeled = !words_.empty();
    note_unused_options(
        options_,
        {"pair", "pair_path", "root", "path_column", "path_pattern", "flat", "list_jobs", "keep_extensions",
         options_.flat ? "" : "class_map", is_labeled ? "allow_unlabeled" : "", options_.flat ? "" : "label_column"},
        is_labeled ? "this is a table" : "the images of the table get no labels", path_, table.listing.notices);
    return table;
  }

 private:
  /// Whether the row is a further one of an image, as tables of captions and of boxes have them.
  bool add_to_earlier(ListedFiles& files, const TableRow& row, const ListedFiles::Place& place, const Record& record,
                      std::uint64_t line, Table& table) {
    const std::string path = files.full_path(place);
    const auto [known, is_new] = sample_of_path_.try_emplace(hash_key(path), First{table.records.size(), line});
    const auto& samples = files.listing().rows.samples();
    if (is_new || known->second.sample >= samples.size()) return false;
    const FileRow& first = samples[known->second.sample];
    if (files.listing().rows.path(first) != path) return false;
    if (word_of(row.label, line) != first.label) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("\"{}\" has another label than in line {}", printable(row.path), known->second.line),
                  {.hint = "give `flat` to keep the labels of all rows of an image in the field json"});
    }
    table.later.push_back({known->second.sample, record});
    return true;
  }

  void note_later_rows(Table& table) const {
    if (table.later.empty()) return;
    std::stable_sort(table.later.begin(), table.later.end(),
                     [](const LaterRecord& a, const LaterRecord& b) { return a.sample < b.sample; });
    warn(table,
         fmt::format("{} rows are further ones of their images: the field json is the list of all rows of an image",
                     table.later.size()));
  }

  /// What `call` returns; nullopt, and a loss of `files`, if it throws.
  template <typename Call>
  auto or_lose(ListedFiles& files, std::uint64_t line, const Call& call) const -> std::optional<decltype(call())> {
    try {
      return call();
    } catch (const Error& error) {
      files.lose(error, path_, line);
      return std::nullopt;
    }
  }

  /// The number of the word in `words_`, which stands for the label until all rows are known.
  std::int64_t word_of(const std::string& cell, std::uint64_t line) {
    if (labels_.is_missing(cell)) {
      if (num_missing_++ == 0) first_missing_ = {.text = cell, .line = line};
      return k_no_label;
    }
    const auto [at, is_new] = numbers_.try_emplace(cell, words_.size());
    if (is_new) words_.push_back({.text = cell, .line = line});
    return static_cast<std::int64_t>(at->second);
  }

  void set_labels(Table& table, bool has_extra) {
    FileListing& listing = table.listing;
    listing.label_origin = {.column = table.columns.label_column()};
    if (listing.label_origin.column.empty()) {
      if (options_.flat) return;
      if (labels_.has_map() || !options_.label_column.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no column for a label; there are: {}", table.columns.column_names()),
                    {.path = path_, .hint = "name it with `label_column`"});
      }
      if (has_extra) warn_of_no_labels(table);
      return;
    }
    if (num_missing_ > 0 && !options_.allow_unlabeled) {
      const std::string cell = first_missing_.text.empty() ? "" : fmt::format(" (\"{}\")", first_missing_.text);
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("line {}: no label in the column \"{}\"{}", first_missing_.line,
                      printable(listing.label_origin.column), cell),
          {.path = path_,
           .hint = "give `allow_unlabeled` to pack such rows without a label, or a `class_map` that has it as a name"});
    }
    const std::vector<std::int64_t> numbers = labels_.take_words(words_, path_);
    labels_.mention_joined(path_, listing.notices);
    listing.classes = labels_.classes();
    listing.label_origin.reading = labels_.reading();
    listing.label_origin.num_missing = num_missing_;
    for (FileRow& row : listing.rows.samples()) {
      if (row.label != k_no_label) row.label = numbers[static_cast<std::size_t>(row.label)];
    }
    warn_of_many_labels(table);
  }

  /// Warns if nearly every image has a label of its own, as in a column of captions or boxes.
  void warn_of_many_labels(Table& table) const {
    const std::size_t num_images = table.listing.rows.samples().size();
    if (labels_.has_map() || num_images < k_enough_images || words_.size() <= num_images / 2) return;
    warn(table, fmt::format("the column \"{}\" has {} labels for {} images (such as \"{}\"), so that it may not be the "
                            "class; if it is, give a `class_map`",
                            printable(table.listing.label_origin.column), words_.size(), num_images,
                            shown_name(words_.front().text)));
  }

  void warn(Table& table, std::string_view what) const {
    NoticeLog log;
    log.warn(what);
    table.listing.notices.merge(log, path_);
  }

  void warn_of_no_labels(Table& table) const {
    warn(table,
         fmt::format("packed without labels, because none of the columns is called so ({}): name the column with "
                     "`label_column`, or give `flat`",
                     table.columns.column_names()));
  }

  std::string path_;
  TableColumns::Kind kind_;
  const SourceOptions& options_;
  Labels labels_;
  struct First {
    std::size_t sample;
    std::uint64_t line;
  };
  std::unordered_map<std::uint64_t, First> sample_of_path_;  // by the hash of the path
  std::unordered_map<std::string, std::size_t> numbers_;     // of the words
  std::vector<LabelWord> words_;                             // that are labels, each once
  std::uint64_t num_missing_ = 0;
  LabelWord first_missing_;
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
