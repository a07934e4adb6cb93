#include "bale/tools/report/text/numbers.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
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
