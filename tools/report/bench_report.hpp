// What `bale bench` found, for people.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"

namespace bale::tools {

using MeasuredStage = std::pair<Stage, StageResult>;

/// A row a stage; with `bar_columns` a bar of the time that an image takes after it, the longest that wide. (Rates of
/// reading and decoding lie so far apart that bars of them would show nothing.)
std::string bench_table(std::span<const MeasuredStage> stages, std::size_t bar_columns);

/// What was found out about the device, a sentence or two.
std::string device_lines(const DeviceFigures& device);

/// "12.5", "1,234".
std::string rate_cell(double per_second);
/// "12 MB"; "-" for nothing.
std::string memory_cell(const std::optional<std::uint64_t>& bytes);

}  // namespace bale::tools
