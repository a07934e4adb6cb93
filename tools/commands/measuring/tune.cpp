#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/measure/verdicts/tune_verdict.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// "2 workers, 8 batches in the ring".
std::string setting_text(unsigned workers, std::uint32_t prefetch) {
  return fmt::format("{}, {} batches in the ring", plural(workers, "worker"), prefetch);
}

/// Measures settings of a pipeline one after another, each on other samples than the one before, because the samples of
/// one are in memory afterwards.
class SettingTrials {
 public:
  /// Calls `show_status` with what is measured, and with an empty text at the end of a measurement. `pipeline` outlives
  /// this object.
  SettingTrials(const PipelineCommand& pipeline, double seconds, std::function<void(const std::string&)> show_status)
      : pipeline_(pipeline), seconds_(seconds), show_status_(std::move(show_status)) {}

  /// Runs the pipeline for the number of seconds given. Throws what Loader throws, and `interrupted`.
  TuneRow measure(unsigned workers, std::uint32_t prefetch);
  /// Images per second of reading without decoding, with as many threads as `row` has workers.
  double reading_alone(const TuneRow& row);

  /// The pipeline with the setting of `row`, with batches on a device.
  DecodingTrial decoding(const TuneRow& row, int device, DecodeOn decode);

  unsigned cores() const { return cores_; }

 private:
  LoaderOptions options_of(unsigned workers, std::uint32_t prefetch) const;

  const PipelineCommand& pipeline_;
  double seconds_;
  std::function<void(const std::string&)> show_status_;
  unsigned cores_ = usable_cores();
  std::uint64_t epoch_ = 0;
};

constexpr std::uint32_t k_first_prefetch = 4;

/// Shows a row as soon as it is measured.
class TuneTable {
 public:
  TuneTable(const TuneCommand& command, Terminal& terminal) : command_(command), terminal_(terminal) {
    if (command_.json) return;
    terminal_.print(
        fmt::format("{:>7}  {:>8}  {:>9}  {:>5}  {:>8}\n", "WORKERS", "PREFETCH", "IMG/S", "CPU", "MEMORY"));
    terminal_.flush();
  }

  void add(TuneRow row) {
    if (!command_.json) {
      terminal_.print(fmt::format("{:>7}  {:>8}  {:>9}  {:>4.0f}%  {:>8}\n", row.workers, row.prefetch,
                                  rate_cell(row.result.images_per_s()), row.cpu_share * 100,
                                  memory_cell(row.result.memory)));
      terminal_.flush();
    } else if (!command_.quiet) {
      terminal_.note(
          fmt::format("{}: {} img/s", setting_text(row.workers, row.prefetch), rate_cell(row.result.images_per_s())));
    }
    rows_.push_back(std::move(row));
  }

  /// Samples that could not be decoded are not part of any rate.
  void note_bad_samples_of_all() {
    std::vector<std::string> bad;
    for (const TuneRow& row : rows_) bad.insert(bad.end(), row.result.bad.begin(), row.result.bad.end());
    std::sort(bad.begin(), bad.end());
    bad.erase(std::unique(bad.begin(), bad.end()), bad.end());
    note_bad_samples(bad, terminal_);
  }

  const std::vector<TuneRow>& rows() const { return rows_; }

 private:
  const TuneCommand& command_;
  Terminal& terminal_;
  std::vector<TuneRow> rows_;
};

std::string recommendation(const TuneCommand& command, const TuneRow& row, double read_images_per_s) {
  const Bound bound = bound_of(row, read_images_per_s);
  const std::uint32_t per_worker = row.workers > 0 ? (row.prefetch + row.workers - 1) / row.workers : 0;
  LoaderOptions options = command.pipeline.options;
  options.workers = row.workers;
  options.prefetch = row.prefetch;
  std::string text = fmt::format("\nRecommended: {}: {} img/s, {} of memory. Reading alone gives {} img/s.\n",
                                 setting_text(row.workers, row.prefetch), rate_cell(row.result.images_per_s()),
                                 memory_cell(row.result.memory), rate_cell(read_images_per_s));
  text += fmt::format("Bound by {}. {}\n", bound_name(bound), bound_advice(bound));
  text += fmt::format(
      "\nPython      {}\n"
      "C++         bale::Loader loader{{\"{}\", {{.batch_size = {}, .workers = {}, .prefetch = {}}}}};\n"
      "DataLoader  batch_size={}, num_workers={}",
      python_loader(command.pipeline.spec, options), shown_name(command.pipeline.spec), options.batch_size, row.workers,
      row.prefetch, options.batch_size, row.workers);
  text += row.workers > 0 ? fmt::format(", prefetch_factor={}\n", per_worker) : "\n";
  return text;
}

std::string decoding_text(const DecodingFigures& figures) {
  const auto cell = [](const DecodingTrial& trial) {
    return fmt::format("{} img/s ({:.0f}% CPU)", rate_cell(trial.result.images_per_s()), trial.cpu_share * 100);
  };
  return fmt::format(
      "\nOn the device  decoded by workers: {}; by the device, {:.0f}% of the images: {}\n               {}\n",
      cell(figures.host), figures.device.device_share * 100, cell(figures.device), decoding_advice(figures));
}

int exit_code_of(NoVerdict why) { return why == NoVerdict::machine_too_busy ? k_exit_retryable : k_exit_failure; }

}  // namespace

LoaderOptions SettingTrials::options_of(unsigned workers, std::uint32_t prefetch) const {
  LoaderOptions options = pipeline_.options;
  options.workers = workers;
  options.prefetch = prefetch;
  return options;
}

TuneRow SettingTrials::measure(unsigned workers, std::uint32_t prefetch) {
  TuneRow row{.workers = workers, .prefetch = prefetch};
  Progress progress;
  const StopOnSignal stop(progress.stop);
  show_status_(setting_text(workers, prefetch));
  Loader loader(pipeline_.spec, options_of(workers, prefetch));
  loader.set_epoch(epoch_);
  const MachineTimes before = machine_times();
  row.result = measure_loader_for(loader, seconds_, progress);
  row.add_shares(before, machine_times(), cores_);
  epoch_ = loader.epoch() + 1;
  show_status_("");
  return row;
}

double SettingTrials::reading_alone(const TuneRow& row) {
  const Dataset dataset = Dataset::open(pipeline_.spec, {.relative_names = true});
  Progress progress;
  const StopOnSignal stop(progress.stop);
  const auto images = static_cast<std::uint64_t>(row.result.images_per_s() * seconds_) + 1;
  show_status_("reading alone");
  const LoaderOptions options = options_of(row.workers, row.prefetch);
  const StageResult result = measure_reading(dataset, options, epoch_ * dataset.size(), images, progress);
  show_status_("");
  return result.images_per_s();
}

DecodingTrial SettingTrials::decoding(const TuneRow& row, int device, DecodeOn decode) {
  Progress progress;
  const StopOnSignal stop(progress.stop);
  show_status_(decode == DecodeOn::host ? "batches on the device, decoded by workers"
                                        : "batches decoded by the device");
  DecodingTrial trial = measure_decoding(pipeline_.spec, options_of(row.workers, row.prefetch), device, decode,
                                         seconds_, cores_, progress);
  show_status_("");
  return trial;
}

int run_tune(const TuneCommand& command, Terminal& terminal) {
  if (command.device) require_device(*command.device);
  TuneTable table(command, terminal);
  SettingTrials trials(command.pipeline, command.seconds, terminal.status_shower(command.quiet));
  // Its result is not kept: it opens files and fills caches, which would slow down only the first setting.
  trials.measure(trials.cores(), k_first_prefetch);
  for (const unsigned workers : worker_steps(trials.cores())) table.add(trials.measure(workers, k_first_prefetch));
  const unsigned workers = table.rows()[recommended(table.rows())].workers;
  if (workers > 0) {  // without workers nothing is prefetched
    for (const std::uint32_t prefetch : {2U, 8U}) table.add(trials.measure(workers, prefetch));
  }
  const TuneRow& best = table.rows()[recommended(table.rows())];
  const double read_images_per_s = trials.reading_alone(best);
  const std::optional<NoVerdict> none = no_verdict(best, read_images_per_s);
  std::optional<DecodingFigures> decoding;
  if (command.device && !none) {
    decoding = {.host = trials.decoding(best, *command.device, DecodeOn::host),
                .device = trials.decoding(best, *command.device, DecodeOn::device)};
  }
  if (command.json) {
    terminal.print(tune_json(command.pipeline, table.rows(), best, read_images_per_s, trials.cores(), decoding));
  } else if (none) {
    terminal.print("\n" + no_verdict_text(*none, best) + "\n");
  } else {
    terminal.print(recommendation(command, best, read_images_per_s));
    if (decoding) terminal.print(decoding_text(*decoding));
  }
  table.note_bad_samples_of_all();
  return none ? exit_code_of(*none) : k_exit_ok;
}

}  // namespace bale::tools
