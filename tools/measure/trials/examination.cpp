#include "bale/tools/measure/trials/examination.hpp"

#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/reader/ahead/shard_opener.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// Returns the epoch after those that were loaded.
std::uint64_t measure_loader(const PipelineCommand& pipeline, const ExaminationOptions& examined,
                             DoctorFigures& figures) {
  Progress progress;
  const StopOnSignal stop(progress.stop);
  LoaderOptions options = pipeline.options;
  if (examined.device) options.transform = made_for_device(options.transform);
  Loader loader(pipeline.spec, options);
  require_samples(loader.dataset(), pipeline.spec);
  const MachineTimes before = machine_times();
  TuneRow& setting = figures.setting;
  setting.workers = loader.options().workers;
  setting.prefetch = loader.options().prefetch;
  setting.result = measure_loader_for(loader, examined.seconds, progress);
  setting.add_shares(before, machine_times(), figures.cores);
  figures.load = setting.result.images_per_s();
  return loader.epoch() + 1;
}

/// From `epoch` on: other samples than the loader has just brought into memory, as far as there are any.
void measure_reads(const PipelineCommand& pipeline, double seconds, std::uint64_t epoch, DoctorFigures& figures) {
  Progress progress;
  const StopOnSignal stop(progress.stop);
  const Dataset dataset = Dataset::open(pipeline.spec, {.relative_names = true});
  const auto images = static_cast<std::uint64_t>(figures.load * seconds) + 1;
  const auto read = [&] {
    return measure_reading(dataset, pipeline.options, epoch * dataset.size(), images, progress).images_per_s();
  };
  figures.read = read();
  const Storage* const storage = storage_of(dataset);
  if (storage == nullptr) return;
  figures.always_fetches = storage->cache().bytes() == 0;
  if (!figures.always_fetches) figures.read_again = read();
}

}  // namespace

Examination examine(const PipelineCommand& pipeline, const ExaminationOptions& options,
                    const std::function<void(const std::string&)>& show_status) {
  if (options.device) require_device(*options.device);
  Examination found{.figures = {.cores = usable_cores()}};
  show_status("loading");
  const std::uint64_t next_epoch = measure_loader(pipeline, options, found.figures);
  show_status("reading");
  measure_reads(pipeline, options.seconds, next_epoch, found.figures);
  const LoaderOptions& loading = pipeline.options;
  if (options.device) {
    show_status("copying");
    found.copies = measure_plain_copies(*options.device, loading.transform, loading.batch_size);
    found.figures.copy =
        found.copies.bytes_per_s / static_cast<double>(made_for_device(loading.transform).image_bytes());
  }
  if (options.step_s > 0) found.figures.compute = loading.batch_size / options.step_s;
  show_status("");
  return found;
}

}  // namespace bale::tools
