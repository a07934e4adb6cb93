// The results of `bale bench` as text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/loader/loader_options.hpp"
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

// The line of Python that makes a measured pipeline. Pure functions.

/// A Python literal: a str, or bytes if `raw` is not valid UTF-8 or has control bytes.
std::string python_literal(std::string_view raw);

/// `bt.Loader(...)` with these options, without those that have their default. Needs `import bale` and
/// `import bale.torch as bt`.
std::string python_loader(std::string_view spec, const LoaderOptions& options);

// Speeds of other loaders that a benchmark script measured, to be shown next to bale's own.

struct PeerFigure {
  std::string name;
  double images_per_s = 0;
};

/// Reads what `scripts/bench/bench_train.py --json` and `scripts/bench/bench_regimes.py --json` print: the best figure
/// of each loader, the fastest first, without bale's own. None for an empty path. Throws `not_found`, `io`, and
/// `invalid_argument` for a file of something else.
std::vector<PeerFigure> load_peer_figures(const std::string& path);

}  // namespace bale::tools
