// Text tables for people: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace bale::tools {

enum class Align { left, right };

class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Each row on a line, `indent` spaces before it, two between columns.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that UTF-8 text takes, one a code point: exact for everything but wide scripts.
std::size_t display_width(const std::string& text);

}  // namespace bale::tools
