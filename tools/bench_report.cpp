#include "bale/tools/bench_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/tools/human.hpp"
#include "bale/tools/table.hpp"

namespace bale::tools {
namespace {

std::string bar(double rate, double highest, std::size_t columns) {
  if (!(highest > 0)) return {};
  return std::string(static_cast<std::size_t>(std::ceil(rate / highest * static_cast<double>(columns))), '#');
}

}  // namespace

std::string rate_cell(double per_second) {
  if (per_second < 100) return fmt::format("{:.1f}", per_second);
  return human_count(static_cast<std::uint64_t>(per_second));
}

std::string memory_cell(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.0f} MB", static_cast<double>(*bytes) / 1e6) : "-";
}

std::string bench_table(std::span<const MeasuredStage> stages, std::size_t bar_columns) {
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.add({"STAGE", "IMG/S", "MB/S", "CPU S/1,000", "MEMORY", "FIRST BATCH", ""});
  double highest = 0;
  for (const auto& [stage, result] : stages) highest = std::max(highest, result.images_per_s());
  for (const auto& [stage, result] : stages) {
    table.add({std::string(stage_name(stage)), rate_cell(result.images_per_s()), rate_cell(result.bytes_per_s() / 1e6),
               fmt::format("{:.3f}", result.cpu_s_per_1000()), memory_cell(result.memory),
               fmt::format("{:.3f} s", result.first_batch_s), bar(result.images_per_s(), highest, bar_columns)});
  }
  return table.text();
}

}  // namespace bale::tools
