#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/parallel.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/doctor_verdict.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/report/bench_report.hpp"
#include "bale/tools/report/json_output.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

/// Measures one part after the other.
class Examination {
 public:
  Examination(const DoctorCommand& command, Terminal& terminal) : command_(command), terminal_(terminal) {}

  DoctorFigures run() {
    DoctorFigures figures{.cores = usable_cores()};
    measure_loader(figures);
    measure_reads(figures);
    const LoaderOptions& options = command_.pipeline.options;
    if (command_.device) {
      show("copying");
      copies_ = measure_plain_copies(*command_.device, options.transform, options.batch_size);
      figures.copy = copies_.bytes_per_s / static_cast<double>(made_for_device(options.transform).image_bytes());
    }
    if (command_.step_s > 0) figures.compute = options.batch_size / command_.step_s;
    terminal_.clear_status();
    return figures;
  }

  const PlainCopies& copies() const { return copies_; }

 private:
  void show(const std::string& text) {
    if (!command_.quiet) terminal_.set_status(text);
  }

  void measure_loader(DoctorFigures& figures) {
    show("loading");
    StageProgress progress;
    const StopOnSignal stop(progress.stop);
    LoaderOptions options = command_.pipeline.options;
    if (command_.device) options.transform = made_for_device(options.transform);
    Loader loader(command_.pipeline.spec, options);
    require_samples(loader.dataset(), command_.pipeline.spec);
    const MachineTimes before = machine_times();
    TuneRow& setting = figures.setting;
    setting.workers = loader.options().workers;
    setting.prefetch = loader.options().prefetch;
    setting.result = measure_loader_for(loader, command_.seconds, progress);
    setting.add_shares(before, machine_times(), figures.cores);
    figures.load = setting.result.images_per_s();
    next_epoch_ = loader.epoch() + 1;
  }

  void measure_reads(DoctorFigures& figures) {
    show("reading");
    StageProgress progress;
    const StopOnSignal stop(progress.stop);
    const Dataset dataset = Dataset::open(command_.pipeline.spec);
    const auto images = static_cast<std::uint64_t>(figures.load * command_.seconds) + 1;
    // Others than the loader has just brought into memory, as far as there are any.
    figures.read = measure_reading(dataset, command_.pipeline.options, next_epoch_ * dataset.size(), images, progress)
                       .images_per_s();
  }

  const DoctorCommand& command_;
  Terminal& terminal_;
  std::uint64_t next_epoch_ = 0;
  PlainCopies copies_;
};

std::string report(const DoctorCommand& command, const DoctorFigures& figures, const Examination& examined) {
  const LoaderOptions& options = command.pipeline.options;
  std::string text =
      fmt::format("{}: batches of {}, {}, {} in the ring\n", printable(command.pipeline.spec), options.batch_size,
                  plural(figures.setting.workers, "worker"), figures.setting.prefetch);
  TextTable table({Align::left, Align::right, Align::left});
  table.add({"PART", "IMG/S", ""});
  table.add({"read", rate_cell(figures.read), ""});
  table.add({"decode", rate_cell(figures.load),
             fmt::format("with reading; {:.0f}% of the cores", figures.setting.cpu_share * 100)});
  if (figures.copy) {
    table.add({"copy", rate_cell(*figures.copy),
               fmt::format("{:.1f} GB/s to {}", examined.copies().bytes_per_s / 1e9, examined.copies().device_name)});
  }
  if (figures.compute) {
    table.add({"compute", rate_cell(*figures.compute), fmt::format("{} ms per step", command.step_s * 1e3)});
  }
  text += table.text();
  text += fmt::format("\nBound by {}. {}\n", bottleneck_name(bottleneck_of(figures)), advice(figures));
  if (figures.compute) {
    text += waiting_text(figures) + "\n";
  } else {
    text +=
        "Whether training waits for it depends on the steps: --step-ms says how long one takes with data that are "
        "there.\n";
  }
  return text;
}

}  // namespace

int run_doctor(const DoctorCommand& command, Terminal& terminal) {
  Examination examination(command, terminal);
  const DoctorFigures figures = examination.run();
  if (figures.setting.result.images == 0) {
    const std::vector<std::string>& bad = figures.setting.result.bad;
    throw Error(
        ErrorCode::damaged,
        fmt::format("none of the samples could be decoded, the first: {}", bad.empty() ? "none was read" : bad.front()),
        {.path = command.pipeline.spec, .hint = "run bale verify --decode"});
  }
  terminal.print(command.json ? doctor_json(command.pipeline, figures) : report(command, figures, examination));
  note_bad_samples(figures.setting.result.bad, terminal);
  return k_exit_ok;
}

}  // namespace bale::tools
