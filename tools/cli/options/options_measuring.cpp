#include "bale/tools/cli/options/options.hpp"

#include <cstdlib>
#include <utility>

#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tools/cli/options/values.hpp"

namespace bale::tools {
namespace {

void declare_pipeline(PipelineCommand& command, CommandModel& app) {
  LoaderOptions& options = command.options;
  add_spec(app, command.spec);
  add_parsed(app.options, "--batch", "N", options.batch_size, parse_count32, "Images in a batch (default: 256)");
  add_parsed(
      app.options, "--size", "N",
      [&](const std::string& option, const std::string& text) {
        Transform sized = train_transform(parse_count32(option, text));
        sized.dtype = options.transform.dtype;
        sized.normalize = options.transform.normalize;
        options.transform = std::move(sized);
      },
      "Side of the crops in pixels (default: 224)");
  add_parsed(
      app.options, "--dtype", "uint8|float16|bfloat16|float32",
      [&](const std::string& option, const std::string& text) {
        options.transform.dtype = parse_dtype(option, text);
        options.transform.normalize = options.transform.dtype != DType::uint8;
      },
      "Type of the batches, the floats normalized (default: uint8)");
  add_parsed(app.options, "--order", "none|full|block", options.shuffle, parse_order,
             "Order of an epoch: the dataset's own, a full shuffle (default), or a block shuffle for slow storage; "
             "block:SAMPLES,BLOCKS is one of other blocks and windows");
  add_parsed(app.options, "--seed", "SEED", options.seed, parse_whole,
             "Seed of the order and of the crops (default: 0)");
  add_max_pixels(app.options, options.max_pixels);
  add_flag(
      app.options, "--threads", [&] { options.worker_mode = WorkerMode::threads; },
      "Workers are threads, not processes");
}

void add_device(std::optional<int>& device, CommandModel& app, const std::string& text) {
  add_parsed(app.options, "--device", "cpu|cuda|cuda:N", device, parse_device, text);
}

void add_step(double& step_s, CommandModel& app, const std::string& text) {
  add_parsed(app.options, "--step-ms", "MS", step_s, parse_milliseconds, text);
}

void add_page(PageRequest& page, CommandModel& app) {
  OptionModel& html = add_text(app.options, "--html", "FILE", page.file,
                               "Also write a page with the stages as a chart, and what to try");
  add_flag(app.options, "--force", page.force, "Replace FILE if it exists").needs(html);
  add_text(app.options, "--beside", "FILE", page.beside,
           "Show the speeds of other loaders on the page: FILE has what `scripts/bench/bench_train.py --json` printed")
      .needs(html);
}

void add_setting(PipelineCommand& command, CommandModel& app, const std::string& workers_text) {
  add_parsed(app.options, "--workers", "N|auto", command.options.workers, parse_workers, workers_text);
  add_parsed(app.options, "--prefetch", "N", command.options.prefetch, parse_count32,
             "Batches in the ring, those of all workers together (default: 4)");
}

}  // namespace

void declare_bench(BenchCommand& command, CommandModel& app) {
  declare_pipeline(command.pipeline, app);
  add_setting(command.pipeline, app, "Workers, and threads of the reading stages (default: 2)");
  add_device(command.device, app,
             "Where the batches of train are to be: in memory (default), or on a CUDA device, whose copies are then "
             "measured too");
  add_step(command.step_s, app,
           "Keep the device busy for this long after each batch, as a training step would, and report how long it had "
           "nothing to do");
  add_parsed(app.options, "--epochs", "N", command.epochs, parse_positive,
             "Passes over the dataset, the last of which counts (default: 2)");
  add_parsed(app.options, "--max-batches", "N", command.max_batches, parse_positive,
             "End a pass after this many batches");
  add_parsed(app.options, "--stages", "STAGE,...", command.stages, parse_stages,
             "Measure only these of read, verify, decode and train");
  add_parsed(
      app.options, "--simd", "NAME",
      [](const std::string& option, const std::string& text) {
        require_value(option, text);
        limit_simd(text);
        ::setenv("BALE_SIMD", text.c_str(), 1);  // for workers
      },
      "Exclude instruction sets better than this one: AVX2, SSE4, ... (Highway's names)");
  add_page(command.page, app);
  add_json(app, command.json, "Print one JSON object: the figures of train, and `stages` with those of each");
  add_quiet(app, command.quiet, "No progress on standard error");
  app.footer =
      "Stages: read (the stored bytes, by threads, no checksums), verify (and checksums compared),\n"
      "decode (whole images, by the workers), train (checksums, random resized crop and flip to\n"
      "uint8 batches). Rates and CPU time are those of the last pass as a whole, when workers run\n"
      "and what fits into memory is there; MB/s counts the shards' bytes. CPU time and memory are\n"
      "those of all processes, memory without the page cache. The first batch of train counts from\n"
      "the start of this program, those of the others from the start of the stage. On a device the\n"
      "copies are compared with a plain copy from page-locked memory; hidden is what no step waited for.";
}

void declare_tune(TuneCommand& command, CommandModel& app) {
  declare_pipeline(command.pipeline, app);
  add_device(
      command.device, app,
      "Settings are tried out in memory. With a CUDA device, also compare there who decodes: the workers, or the "
      "device by nvJPEG");
  add_parsed(app.options, "--seconds-per-setting", "S", command.seconds, parse_seconds,
             "How long to measure each setting (default: 3)");
  add_json(app, command.json);
  add_quiet(app, command.quiet, "No progress on standard error");
  app.footer =
      "Recommended is the smallest setting within 3% of the fastest. Batches are thrown away at once:\n"
      "a trainer that takes fewer images per second than shown does not wait for them. Each setting\n"
      "reads other samples than the one before, so that a dataset larger than memory stays cold.\n"
      "Who decodes is compared with the recommended setting. nvJPEG's pixels are not those of the workers.";
}

void declare_doctor(DoctorCommand& command, CommandModel& app) {
  command.pipeline.options.workers = k_workers_auto;
  declare_pipeline(command.pipeline, app);
  add_setting(command.pipeline, app, "Workers (default: one per core)");
  add_device(command.device, app, "Where batches are to go: nowhere (default), or to a CUDA device");
  add_step(command.step_s, app, "How long a training step takes with a batch that is there already");
  add_parsed(app.options, "--seconds", "S", command.seconds, parse_seconds,
             "How long to measure each part (default: 5)");
  add_page(command.page, app);
  add_json(app, command.json);
  add_quiet(app, command.quiet, "No progress on standard error");
  app.footer =
      "Measures what reading, decoding and copying could each do, and says which of them, or the\n"
      "training step, is the slowest, and what to change. Decoding is that of the whole loader with these\n"
      "options. Images that are in memory already are read at memory's speed: for a dataset that is\n"
      "larger than memory, measure for longer than it takes to read what memory holds.";
}

}  // namespace bale::tools
