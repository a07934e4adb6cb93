#include "bale/tools/report/text/bench_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

double seconds_an_image(const StageResult& result) {
  return result.images > 0 ? result.seconds / static_cast<double>(result.images) : 0;
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
  table.add({"STAGE", "IMG/S", "MB/S", "CPU S/1,000", "MEMORY", "FIRST BATCH", bar_columns > 0 ? "TIME/IMAGE" : ""});
  double longest = 0;
  for (const auto& [stage, result] : stages) longest = std::max(longest, seconds_an_image(result));
  for (const auto& [stage, result] : stages) {
    const double share = longest > 0 ? seconds_an_image(result) / longest : 0;
    table.add({std::string(stage_name(stage)), rate_cell(result.images_per_s()), rate_cell(result.bytes_per_s() / 1e6),
               fmt::format("{:.3f}", result.cpu_s_per_1000()), memory_cell(result.memory),
               fmt::format("{:.3f} s", result.first_batch_s),
               std::string(static_cast<std::size_t>(std::ceil(share * static_cast<double>(bar_columns))), '#')});
  }
  return table.text();
}

std::string device_lines(const DeviceFigures& device) {
  std::string text =
      fmt::format("{}: copies of {:.1f} GB/s (a plain one: {:.1f}), {:.0f}% of their time hidden; values made by {}\n",
                  device.name, device.copy_bytes_per_s / 1e9, device.plain_bytes_per_s / 1e9, device.hidden_share * 100,
                  device.converts ? "the device" : "the workers");
  if (device.idle_share) {
    text += fmt::format("Steps of {} ms: the device had nothing to do for {:.1f}% of the time\n", device.step_s * 1e3,
                        *device.idle_share * 100);
  }
  return text;
}

}  // namespace bale::tools
