#include "bale/tools/measure/trials/setting_trials.hpp"

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {

std::string setting_text(unsigned workers, std::uint32_t prefetch) {
  return fmt::format("{}, {} batches in the ring", plural(workers, "worker"), prefetch);
}

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

}  // namespace bale::tools
