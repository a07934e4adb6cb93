#include "bale/tools/report/text/bench_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

double seconds_an_image(const StageResult& result) {
  return result.images > 0 ? result.seconds / static_cast<double>(result.images) : 0;
}

constexpr std::size_t k_max_peers = 20;
constexpr std::uint64_t k_max_file = std::uint64_t{1} << 26;

/// Of a row of bench_train.py (`median`) or bench_regimes.py. None if it failed.
std::optional<double> rate_of(const Json& row) {
  const Json* const median = row.find("median");
  const Json* const figure = (median != nullptr ? *median : row).find("images_per_s");
  if (figure == nullptr || !figure->is_number()) return std::nullopt;
  const double rate = figure->as_real("images_per_s");
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

std::string transform_text(const Transform& transform) {
  std::string text = fmt::format("bale.transforms.train({}", transform.width);
  if (transform.dtype != DType::uint8) text += fmt::format(", dtype=\"{}\"", dtype_name(transform.dtype));
  if (transform.normalize) text += ", normalize=True";
  return text + ")";
}

std::string shuffle_text(const Shuffle& shuffle) {
  switch (shuffle.kind) {
    case Shuffle::Kind::full:
      return {};
    case Shuffle::Kind::none:
      return ", shuffle=False";
    case Shuffle::Kind::block:
    case Shuffle::Kind::stream:
      return fmt::format(", shuffle=\"{}\", order=bale.Order(block_samples={}, window_blocks={})",
                         shuffle.kind == Shuffle::Kind::block ? "block" : "stream", shuffle.block_samples,
                         shuffle.window_blocks);
    case Shuffle::Kind::node_local:
      return ", shuffle=\"node-local\"";
  }
  return {};
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

std::vector<PeerFigure> load_peer_figures(const std::string& path) {
  if (path.empty()) return {};
  const std::vector<std::byte> bytes = read_file(path, k_max_file);
  std::map<std::string, double> best;
  try {
    const Json content = parse_json(as_text(bytes));
    for (const Json& row : content.list("rows")) {
      const Json* const given = row.find("name");
      if (given == nullptr || !given->is_text()) continue;
      const std::string& name = given->as_text("name");
      if (const auto rate = rate_of(row); rate && !name.starts_with("bale")) best[name] = std::max(best[name], *rate);
    }
  } catch (const Error&) {
    throw Error(ErrorCode::invalid_argument, "not figures of loaders",
                {.path = path, .hint = "give what scripts/bench/bench_train.py --json printed"});
  }
  std::vector<PeerFigure> figures;
  for (const auto& [name, rate] : best) figures.push_back({name, rate});
  std::sort(figures.begin(), figures.end(),
            [](const PeerFigure& a, const PeerFigure& b) { return a.images_per_s > b.images_per_s; });
  figures.resize(std::min(figures.size(), k_max_peers));
  return figures;
}

std::string python_literal(std::string_view raw) {
  const bool is_text = printable(raw) == raw;
  std::string literal(is_text ? "\"" : "b\"");
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (!is_text && (byte < 0x20 || byte > 0x7E)) {
      literal += fmt::format("\\x{:02x}", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string python_loader(std::string_view spec, const LoaderOptions& options) {
  std::string text = fmt::format("bt.Loader({}, batch_size={}, workers={}, prefetch={}, transform={}",
                                 python_literal(without_secrets(spec)), options.batch_size, options.workers,
                                 options.prefetch, transform_text(options.transform));
  text += shuffle_text(options.shuffle);
  if (options.worker_mode == WorkerMode::threads) text += ", threads=True";
  if (options.max_pixels != k_default_max_pixels)
    text += fmt::format(", reading=bale.Reading(max_pixels={})", options.max_pixels);
  return text + ")";
}

}  // namespace bale::tools
