#include "bale/tools/grammar_measuring.hpp"

#include "bale/tools/grammar_options.hpp"
#include "bale/tools/values.hpp"

namespace bale::tools {
namespace {

void declare_pipeline(PipelineCommand& command, CLI::App& app) {
  LoaderOptions& options = command.options;
  add_spec(app, command.spec);
  add_parsed(
      app, "--batch", "N", [&](const std::string& text) { options.batch_size = parse_count32("--batch", text); },
      "Images in a batch (default: 256)");
  add_parsed(
      app, "--size", "N",
      [&](const std::string& text) { options.transform = train_transform(parse_count32("--size", text)); },
      "Side of the crops in pixels (default: 224)");
  add_parsed(
      app, "--order", "none|full|block",
      [&](const std::string& text) { options.shuffle = parse_order("--order", text); },
      "Order of an epoch: the dataset's own, a full shuffle (default), or a block shuffle for slow storage; "
      "block:SAMPLES,BLOCKS is one of other blocks and windows");
  add_whole(app, "--seed", "SEED", options.seed, "Another seed, another order and other crops (default: 0)");
  app.add_flag_callback(
      "--threads", [&] { options.worker_mode = WorkerMode::threads; }, "Workers are threads, not processes");
  add_parsed(
      app, "--device", "cpu", [](const std::string& text) { check_device("--device", text); },
      "Where batches are to end up (default: cpu, the only one so far)");
}

}  // namespace

void declare_bench(BenchCommand& command, CLI::App& app) {
  declare_pipeline(command.pipeline, app);
  add_parsed(
      app, "--workers", "N|auto",
      [&](const std::string& text) { command.pipeline.options.workers = parse_workers("--workers", text); },
      "Workers, and threads of the reading stages (default: 2)");
  add_parsed(
      app, "--prefetch", "N",
      [&](const std::string& text) { command.pipeline.options.prefetch = parse_count32("--prefetch", text); },
      "Batches in the ring, those of all workers together (default: 4)");
  add_parsed(
      app, "--epochs", "N", [&](const std::string& text) { command.epochs = parse_positive("--epochs", text); },
      "Passes over the dataset, the last of which counts (default: 2)");
  add_parsed(
      app, "--max-batches", "N",
      [&](const std::string& text) { command.max_batches = parse_positive("--max-batches", text); },
      "End a pass after so many batches");
  add_parsed(
      app, "--stages", "STAGE,...", [&](const std::string& text) { command.stages = parse_stages("--stages", text); },
      "Measure only these of read, verify, decode and train");
  add_json(app, command.json, "Print one JSON object: the figures of train, and `stages` with those of each");
  add_quiet(app, command.quiet, "No progress on standard error");
  app.footer(
      "Stages: read (the stored bytes, by threads, no checksums), verify (and checksums compared),\n"
      "decode (whole images, by the workers), train (checksums, random resized crop and flip to\n"
      "uint8 batches). Rates and CPU time are those of the last pass as a whole, when workers run\n"
      "and what fits into memory is there; MB/s counts the shards' bytes. CPU time and memory are\n"
      "those of all processes, memory without the page cache. The first batch of train counts from\n"
      "the start of this program, those of the others from the start of the stage.");
}

void declare_tune(TuneCommand& command, CLI::App& app) {
  declare_pipeline(command.pipeline, app);
  add_parsed(
      app, "--seconds-per-setting", "S",
      [&](const std::string& text) { command.seconds = parse_seconds("--seconds-per-setting", text); },
      "How long to measure each setting (default: 3)");
  add_json(app, command.json);
  add_quiet(app, command.quiet, "No progress on standard error");
  app.footer(
      "Recommended is the smallest setting within 3% of the fastest. Batches are thrown away at once:\n"
      "a trainer that takes fewer images a second than shown does not wait for them. Each setting\n"
      "reads other samples than the one before, so that a dataset larger than memory stays cold.");
}

}  // namespace bale::tools
