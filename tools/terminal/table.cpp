#include "bale/tools/terminal/table.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"

namespace bale::tools {

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string TextTable::text(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i] == Align::right ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

namespace {

constexpr std::uint64_t k_max_rows = 10;
constexpr std::uint64_t k_bar_columns = 40;

/// The smallest round step with which k_max_rows steps cover `span`, wherever the first one begins.
std::uint64_t round_step(std::uint64_t span, Bounds bounds) {
  const auto covers = [&](std::uint64_t step) { return step > span / (k_max_rows - 1); };
  std::uint64_t step = 1;
  if (bounds == Bounds::binary) {
    while (!covers(step)) step *= 2;
    return step;
  }
  for (;; step *= 10) {
    for (const std::uint64_t multiple : {1U, 2U, 5U}) {
      if (covers(step * multiple)) return step * multiple;
    }
  }
}

}  // namespace

std::string histogram_text(std::span<const std::uint64_t> sorted, Bounds bounds, std::string (*show)(std::uint64_t)) {
  // The largest 5% of the values would stretch every bin, so they go into the last one.
  const std::uint64_t low = sorted.front();
  const std::uint64_t high = std::max(low, sorted[(sorted.size() - 1) - (sorted.size() - 1) / 20]);
  const std::uint64_t step = round_step(high - low, bounds);
  const std::uint64_t first = low / step * step;
  const std::uint64_t rows = (high - first) / step + 1;
  std::vector<std::uint64_t> counts(rows, 0);
  for (const std::uint64_t value : sorted) ++counts[std::min((value - first) / step, rows - 1)];
  const std::uint64_t tallest = *std::max_element(counts.begin(), counts.end());
  TextTable table({Align::right, Align::right, Align::left});
  for (std::uint64_t row = 0; row < rows; ++row) {
    const bool open_ended = row + 1 == rows && sorted.back() >= first + rows * step;
    const std::string label = fmt::format("{} .. {}", show(first + row * step),
                                          open_ended ? show(sorted.back()) : show(first + (row + 1) * step - 1));
    const std::uint64_t columns = (counts[row] * k_bar_columns + tallest - 1) / tallest;
    table.add({label, human_count(counts[row]), std::string(columns, '#')});
  }
  return table.text(2);
}

}  // namespace bale::tools
