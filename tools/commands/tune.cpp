#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/parallel.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/measure/tune_verdict.hpp"
#include "bale/tools/report/bench_report.hpp"
#include "bale/tools/report/json_output.hpp"
#include "bale/tools/report/python_line.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

constexpr std::uint32_t k_first_prefetch = 4;

std::string setting_text(unsigned workers, std::uint32_t prefetch) {
  return fmt::format("{}, {} batches in the ring", plural(workers, "worker"), prefetch);
}

/// Measures one setting after another, each on other samples than the one before: what a setting read lies in memory.
class Settings {
 public:
  Settings(const TuneCommand& command, Terminal& terminal) : command_(command), terminal_(terminal) {
    if (command_.json) return;
    terminal_.print(
        fmt::format("{:>7}  {:>8}  {:>9}  {:>5}  {:>8}\n", "WORKERS", "PREFETCH", "IMG/S", "CPU", "MEMORY"));
    terminal_.flush();
  }

  const TuneRow& measure(unsigned workers, std::uint32_t prefetch) {
    TuneRow row = try_setting(workers, prefetch);
    if (!command_.json) {
      terminal_.print(fmt::format("{:>7}  {:>8}  {:>9}  {:>4.0f}%  {:>8}\n", row.workers, row.prefetch,
                                  rate_cell(row.result.images_per_s()), row.cpu_share * 100,
                                  memory_cell(row.result.memory)));
      terminal_.flush();  // a row is shown when it is known
    } else if (!command_.quiet) {
      terminal_.note(
          fmt::format("{}: {} img/s", setting_text(workers, prefetch), rate_cell(row.result.images_per_s())));
    }
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  /// Not kept: opens files and fills caches, which the first setting alone would have to pay.
  void warm_up() { try_setting(cores_, k_first_prefetch); }

  double reading_alone(const TuneRow& row) {
    const Dataset dataset = Dataset::open(command_.pipeline.spec);
    StageProgress progress;
    const StopOnSignal stop(progress.stop);
    const auto images = static_cast<std::uint64_t>(row.result.images_per_s() * command_.seconds) + 1;
    show_status("reading alone");
    const LoaderOptions options = options_of(row.workers, row.prefetch);
    const StageResult result = measure_reading(dataset, options, epoch_ * dataset.size(), images, progress);
    terminal_.clear_status();
    return result.images_per_s();
  }

  /// Those that could not be decoded have no part in any rate.
  void note_bad_samples_of_all() {
    std::vector<std::string> bad;
    for (const TuneRow& row : rows_) bad.insert(bad.end(), row.result.bad.begin(), row.result.bad.end());
    std::sort(bad.begin(), bad.end());
    bad.erase(std::unique(bad.begin(), bad.end()), bad.end());
    note_bad_samples(bad, terminal_);
  }

  const std::vector<TuneRow>& rows() const { return rows_; }
  unsigned cores() const { return cores_; }

 private:
  void show_status(const std::string& text) {
    if (!command_.quiet) terminal_.set_status(text);
  }

  LoaderOptions options_of(unsigned workers, std::uint32_t prefetch) const {
    LoaderOptions options = command_.pipeline.options;
    options.workers = workers;
    options.prefetch = prefetch;
    return options;
  }

  TuneRow try_setting(unsigned workers, std::uint32_t prefetch) {
    TuneRow row{.workers = workers, .prefetch = prefetch};
    StageProgress progress;
    const StopOnSignal stop(progress.stop);
    show_status(setting_text(workers, prefetch));
    Loader loader(command_.pipeline.spec, options_of(workers, prefetch));
    loader.set_epoch(epoch_);
    const MachineTimes before = machine_times();
    row.result = measure_loader_for(loader, command_.seconds, progress);
    row.add_shares(before, machine_times(), cores_);
    epoch_ = loader.epoch() + 1;
    terminal_.clear_status();
    return row;
  }

  const TuneCommand& command_;
  Terminal& terminal_;
  const unsigned cores_ = usable_cores();
  std::uint64_t epoch_ = 0;
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
      python_loader(command.pipeline.spec, options), printable(command.pipeline.spec), options.batch_size, row.workers,
      row.prefetch, options.batch_size, row.workers);
  text += row.workers > 0 ? fmt::format(", prefetch_factor={}\n", per_worker) : "\n";
  return text;
}

int exit_code_of(NoVerdict why) { return why == NoVerdict::machine_too_busy ? k_exit_retryable : k_exit_failure; }

}  // namespace

int run_tune(const TuneCommand& command, Terminal& terminal) {
  Settings settings(command, terminal);
  settings.warm_up();
  for (const unsigned workers : worker_steps(settings.cores())) settings.measure(workers, k_first_prefetch);
  const unsigned workers = settings.rows()[recommended(settings.rows())].workers;
  if (workers > 0) {  // without workers nothing is made ahead
    for (const std::uint32_t prefetch : {2U, 8U}) settings.measure(workers, prefetch);
  }
  const TuneRow& best = settings.rows()[recommended(settings.rows())];
  const double read_images_per_s = settings.reading_alone(best);
  const std::optional<NoVerdict> none = no_verdict(best, read_images_per_s);
  if (command.json) {
    terminal.print(tune_json(command.pipeline, settings.rows(), best, read_images_per_s, settings.cores()));
  } else if (none) {
    terminal.print("\n" + no_verdict_text(*none, best) + "\n");
  } else {
    terminal.print(recommendation(command, best, read_images_per_s));
  }
  settings.note_bad_samples_of_all();
  return none ? exit_code_of(*none) : k_exit_ok;
}

}  // namespace bale::tools
