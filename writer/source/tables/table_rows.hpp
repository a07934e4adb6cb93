// The rows of a CSV, TSV or JSONL file: the path, the label and the other columns of each.
//
// For one thread at a time; const methods are safe in any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/writer/source/source.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {

/// The parts of a row that packing needs.
struct TableRow {
  std::string path;
  std::string label;  // without spaces around it; empty if the row has none
  bool has_extra = false;
};

class TableColumns {
 public:
  enum class Kind { csv, tsv, jsonl };

  /// Advice for a table without a header.
  static constexpr const char* k_name_columns = "write the names of the columns above it, such as path and label";

  /// The kind by the suffix of `path`; nullopt if it is not a table's.
  static std::optional<Kind> kind_of(const std::string& path);

  /// Throws `invalid_argument` for a path_pattern that is none.
  TableColumns(Kind kind, const SourceOptions& options);

  Kind kind() const { return kind_; }
  /// Sets the header record, and where cells end; csv and tsv only, before any row. Throws `invalid_argument` if a
  /// required column is missing.
  void set_header(std::string_view record, char delimiter);

  /// Lists a row. Of jsonl, the first row with a member for labels says which it is in all rows. Throws `damaged` or
  /// `invalid_argument` without file and line, which the caller adds.
  TableRow parse(std::string_view record);
  /// Name of the column of labels; empty if none was found or they are not wanted.
  const std::string& label_column() const { return label_name_; }
  /// Names of the columns of the header, or of jsonl's first row, for messages.
  std::string column_names() const;
  /// The record's other columns as one JSON object on one line.
  std::string extra_json(std::string_view record) const;

 private:
  struct PatternPart {
    std::string text;
    bool is_column = false;
    std::size_t column = 0;  // of csv and tsv
  };

  void parse_pattern();
  bool is_in_pattern(std::string_view column) const;
  /// Whether a column of csv and tsv, or a member of jsonl, is neither path nor label.
  bool is_extra(std::size_t column) const {
    return column != path_column_ && column != label_column_ && !is_in_pattern(header_[column]);
  }
  bool is_extra_member(std::optional<std::size_t> path, std::optional<std::size_t> label, std::size_t member,
                       std::string_view name) const {
    return (member != path || !pattern_.empty()) && member != label && !is_in_pattern(name);
  }
  template <typename CellOf>
  std::string filled_pattern(const CellOf& cell_of) const;
  void split(std::string_view record, std::vector<std::string>& cells) const;

  Kind kind_;
  SourceOptions options_;
  std::vector<PatternPart> pattern_;  // path_pattern; empty: the path is in a column
  std::vector<std::string> header_;
  char delimiter_ = ',';
  bool skips_spaces_ = false;  // the header is "path, label"
  std::size_t path_column_ = 0;
  std::optional<std::size_t> label_column_;
  std::string label_name_;
};

}  // namespace bale
