// Text tables. Each column is as wide as its widest cell.
#pragma once

#include <cstdint>
#include <span>
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

// Histograms as text. Pure functions, safe in any thread.

/// Which numbers are round: 1, 2, 5, 10, ... or powers of two.
enum class Bounds { decimal, binary };

/// `sorted` must be ascending and not empty; `show` formats a bound. At most ten rows with round bounds, one per bin: "
/// bound .. bound  count  ####".
std::string histogram_text(std::span<const std::uint64_t> sorted, Bounds bounds, std::string (*show)(std::uint64_t));

}  // namespace bale::tools
