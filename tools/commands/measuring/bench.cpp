#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_bar_columns = 40;

const char* past_participle(Stage stage) {
  switch (stage) {
    case Stage::read:
      return "read";
    case Stage::verify:
      return "read and compared";
    case Stage::decode:
      return "decoded";
    case Stage::train:
      return "loaded";
  }
  return "";
}

StageResult run_stage(Stage stage, const BenchCommand& command, std::optional<DeviceFigures>& device,
                      Terminal& terminal) {
  const double before = seconds_since_start();
  const StagePasses passes{.passes = command.epochs, .max_batches = command.max_batches};
  const PipelineCommand& pipeline = command.pipeline;
  const auto measure = [&](Progress& progress) {
    if (stage != Stage::train || !command.device) {
      return measure_stage(stage, pipeline.spec, pipeline.options, passes, progress);
    }
    return measure_device(pipeline.spec, pipeline.options, *command.device, command.step_s, passes, progress,
                          device.emplace());
  };
  StageResult result = run_attended(past_participle(stage), progress_style(command.quiet), terminal, measure);
  // A trainer also waits for its program to start.
  if (stage == Stage::train) result.first_batch_s += before;
  return result;
}

std::string headline(const PipelineCommand& pipeline) {
  const LoaderOptions& options = pipeline.options;
  const bool threads = options.worker_mode == WorkerMode::threads;
  return fmt::format("{}: batches of {}, {}, {} in the ring, {}", shown_name(pipeline.spec), options.batch_size,
                     options.workers == k_workers_auto ? "one worker per core"
                                                       : plural(options.workers, threads ? "thread" : "worker"),
                     options.prefetch, simd_target());
}

}  // namespace

void note_bad_samples(const std::vector<std::string>& bad, Terminal& terminal) {
  if (bad.empty()) return;
  terminal.note(fmt::format("{} could not be decoded, the first: {}", plural(bad.size(), "sample"), bad.front()));
}

void require_images(std::uint64_t num_images, const std::vector<std::string>& bad, const std::string& spec) {
  if (num_images != 0) return;
  throw Error(
      ErrorCode::damaged,
      fmt::format("none of the samples could be decoded, the first: {}", bad.empty() ? "none was read" : bad.front()),
      {.path = spec, .hint = "run bale verify --decode"});
}

int run_bench(const BenchCommand& command, Terminal& terminal) {
  const auto wanted = [&](Stage stage) {
    return command.stages.empty() ||
           std::find(command.stages.begin(), command.stages.end(), stage) != command.stages.end();
  };
  if (command.step_s > 0 && !command.device) {
    throw Error(ErrorCode::invalid_argument, "--step-ms: steps need a device to run on", {.hint = "add --device cuda"});
  }
  if (command.device && !wanted(Stage::train)) {
    throw Error(ErrorCode::invalid_argument, "--device: only the stage train has batches for a device",
                {.hint = "add train to --stages"});
  }
  require_output_file(command.page.file, command.page.force);
  const std::vector<PeerFigure> peers = load_peer_figures(command.page.beside);
  std::vector<MeasuredStage> results;
  std::optional<DeviceFigures> device;
  // The whole pipeline runs first: the time to its first batch counts from the start of the program.
  for (const Stage stage : {Stage::train, Stage::read, Stage::verify, Stage::decode}) {
    if (!wanted(stage)) continue;
    const auto& measured = results.emplace_back(stage, run_stage(stage, command, device, terminal)).second;
    require_images(measured.images, measured.bad, command.pipeline.spec);
    note_bad_samples(measured.bad, terminal);
  }
  std::sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!command.page.file.empty()) {
    const std::string page = bench_page(headline(command.pipeline), results, device, peers);
    publish_file(command.page.file, as_bytes(page));
  }
  if (command.json) {
    terminal.print(bench_json(command.pipeline, results, device));
  } else {
    terminal.print(headline(command.pipeline) + '\n');
    terminal.print(bench_table(results, terminal.out_is_terminal() ? k_bar_columns : 0));
    if (device) terminal.print(device_lines(*device));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
