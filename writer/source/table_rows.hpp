// The rows of a CSV, TSV or JSONL file: which cell is the path, which the label, what else there is.
//
// For one thread at a time; extra_json and the like are const and safe in any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/writer/source/source.hpp"

namespace bale {

/// One row as far as packing needs it.
struct TableRow {
  std::string path;
  std::optional<std::string> label;  // text or a decimal integer; nullopt where the row has none
  bool has_extra = false;
};

class TableColumns {
 public:
  enum class Kind { csv, tsv, jsonl };

  /// By the suffix of `path`; nullopt where it is no table's.
  static std::optional<Kind> kind_of(const std::string& path);

  TableColumns(Kind kind, const SourceOptions& options) : kind_(kind), options_(options) {}

  Kind kind() const { return kind_; }
  /// Takes the header record; csv and tsv only, before any row. Throws `invalid_argument` where a column
  /// that is needed is not there.
  void set_header(std::string_view record);

  /// Throws `damaged` or `invalid_argument` without place; the caller knows file and line.
  TableRow parse(std::string_view record) const;
  /// The record's other columns as one JSON object on one line.
  std::string extra_json(std::string_view record) const;

 private:
  char delimiter() const { return kind_ == Kind::tsv ? '\t' : ','; }

  Kind kind_;
  SourceOptions options_;
  std::vector<std::string> header_;
  std::size_t path_column_ = 0;
  std::optional<std::size_t> label_column_;
};

}  // namespace bale
