// Text tables. Each column is as wide as its widest cell.
#pragma once

#include <string>
#include <vector>

namespace bale::tools {

enum class Align { left, right };

class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// One line per row, indented by `indent` spaces, with two spaces between columns.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Width of UTF-8 text in columns, one per code point. Exact except for wide scripts.
std::size_t display_width(const std::string& text);

}  // namespace bale::tools
