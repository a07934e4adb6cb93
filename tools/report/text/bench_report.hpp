// The results of `bale bench` as text.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"

namespace bale::tools {

using MeasuredStage = std::pair<Stage, StageResult>;

/// One row per stage. If `bar_columns` is not 0, each row ends in a bar of the time per image; the longest bar has that
/// many columns. (The rates of reading and decoding differ too much for bars of rates.)
std::string bench_table(std::span<const MeasuredStage> stages, std::size_t bar_columns);

/// The figures of the device, in one or two lines.
std::string device_lines(const DeviceFigures& device);

/// "12.5", "1,234".
std::string rate_cell(double per_second);
/// "12 MB"; "-" for nullopt.
std::string memory_cell(const std::optional<std::uint64_t>& bytes);

}  // namespace bale::tools
