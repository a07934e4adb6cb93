#include "bale/tools/cli/options/grammar_packing.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/registry/registry.hpp"
#include "bale/tools/cli/options/grammar_options.hpp"
#include "bale/tools/cli/options/grammar_source.hpp"
#include "bale/tools/cli/options/values.hpp"
#include "bale/tools/commands/formats.hpp"

namespace bale::tools {
namespace {

constexpr const char* k_seek_points_text =
    "Write seek points next to each shard, so that loaders can start decoding a JPEG at any row (about 0.3% of the "
    "bytes)";

void declare_format(PackCommand& command, CommandModel& app) {
  PackOptions& options = command.options;
  add_text(app, "-f,--format", format_choices(), command.format,
           fmt::format("Format of the shards, or FORMAT.LAYOUT (default: {}); see `bale formats`", formats()[0]->name));
  add_text(app, "--layout", layout_choices(), command.layout, "Layout within the format (default: its first)");
  add_parsed(app, "--compress", "zstd[:LEVEL]", options.compress_level, parse_compression,
             "Compress every field that is not an image, if the layout has room for it");
  add_parsed(
      app, "--size", "N",
      [&](const std::string& text) { options.format_options["size"] = std::to_string(parse_positive("--size", text)); },
      "Side in pixels of decoded images, for layouts that store pixels");
  add_parsed(
      app, "--level", "N", [&](const std::string& text) { options.format_options["level"] = text; },
      "Compression level, for layouts that compress the whole shard or pixels");
  add_parsed(
      app, "--label-base", "N", [&](const std::string& text) { options.format_options["label_base"] = text; },
      "Number of the first class in the files, for layouts whose readers may count from 1 (default: 0)");
}

void declare_shards(PackCommand& command, CommandModel& app) {
  PackOptions& options = command.options;
  add_text(app, "--name", "NAME", options.name,
           "Name of the dataset and prefix of its shards (default: that of SRC, or of DST if SRC is a list)");
  OptionModel& by_bytes =
      add_parsed(app, "--shard-size", "SIZE", options.sizing.shard_bytes, parse_size,
                 "Start a new shard when its fields would be more bytes than this, as they are in the source "
                 "and without what the container adds (default: 256MiB); "
                 "KiB, MiB, GiB are powers of 1024, KB, MB, GB of 1000");
  OptionModel& by_count = add_parsed(app, "--shard-count", "N", options.sizing.shard_count, parse_positive,
                                     "Write this many shards of about equal size");
  OptionModel& by_samples = add_parsed(app, "--shard-samples", "N", options.sizing.shard_samples, parse_positive,
                                       "Write this many samples to a shard");
  by_bytes.excludes(by_count).excludes(by_samples);
  by_count.excludes(by_samples);
  add_parsed(app, "--shuffle", "SEED", options.shuffle_seed, parse_whole,
             "Shuffle the samples; the same seed gives the same order");
  OptionModel& split = add_parsed(app, "--split", "NAME=F,...", options.splits, parse_splits,
                                  "Write one dataset per part to DST/NAME, such as train=0.95,val=0.05");
  add_flag(app, "--stratify", options.stratify, "Split every class by the same fractions").needs(split);
}

void declare_list(PackCommand& command, CommandModel& app) {
  OptionModel& files = add_text(app, "--files-from", "FILE", command.files_from,
                                "Read paths to pack from a file, one per line; '-' is standard input");
  add_flag(app, "-0,--null", command.source_options.nul_separated, "Paths of --files-from end with NUL, not newline")
      .needs(files);
}

void declare_samples(PackCommand& command, CommandModel& app) {
  PackOptions& options = command.options;
  add_source_options(app, command.source_options, command.source_is_packed ? SourceUse::packed : SourceUse::any);
  if (!command.source_is_packed) declare_list(command, app);
  add_text(app, "--exclude-from", "FILE", command.exclude_from,
           "Leave out the samples that FILE names, one per line or ended by NUL: paths below SRC, keys as `bale ls` "
           "prints them, or directories");
  add_where(app, command.where);
  OptionModel& sample = add_parsed(
      app, "--sample", "N|P%", [&](const std::string& text) { parse_sample("--sample", text, command.draw); },
      "Only this many samples, or this part of them, such as 1000 or 5%, drawn at random by their keys: the same "
      "samples from any format and order, and a part of a larger draw");
  add_flag(app, "--sample-per-class", command.draw.per_class, "Draw this many samples, or this part, of each class")
      .needs(sample);
  add_parsed(app, "--sample-seed", "SEED", command.draw.seed, parse_whole, "Seed of the random selection (default: 0)")
      .needs(sample);
  add_parsed(app, "--max-samples", "N", options.max_samples, parse_positive, "Stop after this many");
  add_parsed(app, "--on-error", "fail|skip|quarantine", options.on_error, parse_on_error,
             "What to do with unreadable samples (default: fail)");

  add_sidecars(app, options.sidecars);
  add_flag(app, "--seek-points", options.seek_points, k_seek_points_text);
}

void declare_images(PackCommand& command, CommandModel& app) {
  PackOptions& options = command.options;
  OptionModel& by_short = add_parsed(
      app, "--resize-short", "N", options.edits.resize_short, parse_count32,
      "Make images smaller whose shorter side has more than N pixels, as torchvision's Resize(N) does on Pillow "
      "images; "
      "what fits stays byte for byte");
  add_parsed(app, "--resize-max", "N", options.edits.resize_max, parse_count32, "The same by the longer side")
      .excludes(by_short);
  add_flag(app, "--decode", command.decode,
           "Store images as pixels: the format's layout that holds them, unless --layout names one");
  add_flag(app, "--orient", options.edits.orient, "Turn images as their EXIF orientation says, and drop the tag");
  add_flag(app, "--strip-metadata", options.edits.strip_metadata,
           "Leave out EXIF, XMP, color profiles, comments and texts; pixels stay as they are");
  add_parsed(app, "--quality", "Q", options.edits.quality, parse_quality,
             "Quality of JPEGs that --resize-short, --resize-max or --orient encode again, 1 to 100 (default: 90)");
  add_flag(app, "--jpeg-lossless", options.edits.jpeg_lossless,
           "Write progressive JPEGs as baseline ones, and all with Huffman tables of their own: other bytes, the same "
           "pixels and metadata");

  add_flag(
      app, "--check-images", options.check_images,
      "Decode every image, and name those that cannot be: they are packed, and the index says so; with --on-error skip "
      "or quarantine they are left out");
  add_max_pixels(app, options.max_pixels);
}

/// Options of `plan` itself.
void declare_plan_run(PackCommand& command, CommandModel& app) {
  add_output(app, "-o,--output", "PLAN", command.plan, "File to write the plan to").required = true;
  add_jobs(app, command.options.jobs, "Threads that examine images for --where (default: one per core)");
  add_flag(app, "-n,--dry-run", command.dry_run, "Print the shards that would be planned, and write nothing");
  add_strict(app, command.strict);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
}

/// `pack --plan`. Everything that the plan settles is excluded. Call it when all other options are declared.
void declare_parts(PackCommand& command, CommandModel& app) {
  const std::set<std::string> allowed{"--jobs", "--staging-dir", "--dry-run", "--json", "--quiet", "--json-progress"};
  std::vector<std::string> settled;
  for (const OptionModel& option : app.options) {
    if (!allowed.contains(option.long_name)) settled.push_back(option.long_name);
  }
  OptionModel& plan = add_text(app, "--plan", "PLAN", command.plan,
                               "Pack shards of a plan that `bale plan` made, instead of SRC into DST");
  OptionModel& part = add_parsed(app, "--part", "I/N", command.choice.part, parse_part,
                                 "Part I of N of the plan's shards, counted from 0: 0/16 to 15/16")
                          .needs(plan);
  add_parsed(app, "--shards", "LIST", command.choice.shards, parse_ranges,
             "These shards of the plan, counted from 0, such as 3,17,20..25")
      .needs(plan)
      .excludes(part);
  plan.excluded = settled;
}

void declare_run(PackCommand& command, CommandModel& app) {
  PackOptions& options = command.options;
  add_jobs(app, options.jobs, "Shards to write in parallel (default: two per core); does not change the result");
  add_text(
      app, "--staging-dir", "DIR", options.staging_directory,
      "If DST is an s3:// name: local directory in which shards are built before they are uploaded, with room for one "
      "per job (default: TMPDIR or /tmp)");
  OptionModel& resume = add_flag(
      app, "--resume", [&] { options.mode = DestinationMode::resume; },
      "Continue an interrupted run of the same command");
  add_flag(
      app, "--overwrite", [&] { options.mode = DestinationMode::overwrite; },
      "Replace the dataset in DST, if it has the same name: it stays until the new one is complete, so there must be "
      "room "
      "for both (in an object store its manifest is removed first); files that bale did not write stay")
      .excludes(resume);
  add_flag(
      app, "-n,--dry-run", command.dry_run,
      "Print the shards that would be written, with the bytes of their fields, and write nothing; refuses what the run "
      "would refuse");
  add_strict(app, command.strict);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
}

/// `pack`, `convert` and `plan`.
void declare_packing(PackCommand& command, CommandModel& app) {
  const bool is_plan = command.command == "plan";
  OptionModel& from = add_positional(
      app, "SRC", command.source,
      command.source_is_packed ? k_spec_text
                               : "Folder with one subfolder per class, a table (.csv, .tsv, .jsonl) with paths "
                                 "and labels, a list (a text file of paths), or a packed dataset; omitted with "
                                 "--files-from");
  OptionModel& to = add_positional(
      app, "DST", command.options.destination,
      is_plan
          ? "Directory that the parts will write the dataset to, which all machines must share, or s3://BUCKET/PREFIX"
          : "Directory to write the dataset to, created if it does not exist, or s3://BUCKET/PREFIX");
  from.required = command.source_is_packed;
  to.required = command.command != "pack";
  from.checked_by_command = to.checked_by_command = true;

  using Declare = void (*)(PackCommand&, CommandModel&);
  std::vector<std::pair<const char*, Declare>> groups{{"Format", declare_format},
                                                      {"Shards", declare_shards},
                                                      {"Samples", declare_samples},
                                                      {"Images", declare_images},
                                                      {"Run", is_plan ? declare_plan_run : declare_run}};
  if (command.command == "pack") groups.emplace_back("Parts of a plan", declare_parts);
  for (const auto& [title, declare] : groups) {
    const std::size_t begin = app.options.size();
    declare(command, app);
    for (std::size_t i = begin; i < app.options.size(); ++i) app.options[i].group = title;
  }
}

}  // namespace

void declare_pack(PackCommand& command, CommandModel& app) {
  command.command = "pack";
  declare_packing(command, app);
  app.footer =
      "Examples:\n"
      "  bale pack imagenet/train packed\n"
      "  bale pack photos packed --flat --shard-samples 1000 --shuffle 1\n"
      "  find photos \\( -iname '*.jpg' -o -iname '*.jpeg' \\) -print0 | bale pack --files-from - -0 packed\n"
      "  bale pack VOC2012/JPEGImages packed --flat --pair jpg,mask.png \\\n"
      "    --pair-path 'mask.png=../SegmentationClass/{stem}.png'\n"
      "  bale pack --plan imagenet.plan --part 3/16";
}

void declare_convert(PackCommand& command, CommandModel& app) {
  command.command = "convert";
  command.source_is_packed = true;
  declare_packing(command, app);
  app.footer = fmt::format("Example:\n  bale convert packed elsewhere --format {}", formats()[1]->name);
}

void declare_plan(PackCommand& command, CommandModel& app) {
  command.command = "plan";
  declare_packing(command, app);
  app.footer =
      "Examples:\n"
      "  bale plan imagenet/train /shared/packed -o imagenet.plan\n"
      "  sbatch --array=0-15 --wrap 'bale pack --plan imagenet.plan --part $SLURM_ARRAY_TASK_ID/16'\n"
      "  bale merge imagenet.plan";
}

void declare_merge(MergeCommand& command, CommandModel& app) {
  add_positional(app, "SRC", command.sources,
                 "Plan that `bale plan` made, or a directory into which Writers wrote parts; with -o packed datasets");
  OptionModel& output =
      add_output(app, "-o,--output", "DST", command.output,
                 "Directory to write the packed datasets SRC to, as one; created if it does not exist");
  add_text(app, "--name", "NAME", command.name, "Name of that dataset and prefix of its shards").needs(output);
  add_flag(app, "--link", command.link,
           "Give the shards a second name (a hard link) instead of copying them, if the file system can")
      .needs(output);
  OptionModel& resume = add_flag(
      app, "--resume", [&] { command.mode = DestinationMode::resume; },
      "Continue an interrupted run of the same command");
  resume.needs(output);
  add_flag(
      app, "--overwrite", [&] { command.mode = DestinationMode::overwrite; },
      "Replace the dataset in DST, if it has the same name: it stays until the new one is complete")
      .needs(output)
      .excludes(resume);
  add_parsed(app, "--parts", "N", command.parts, parse_positive,
             "Number of parts, to name those that are missing (default: as they were packed)")
      .excludes(output);
  add_jobs(app, command.jobs, "Shards to check or copy in parallel (default: automatic)");
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.footer =
      "Examples:\n"
      "  bale merge imagenet.plan            # parts of a plan, or which of them are missing\n"
      "  bale merge /shared/packed           # parts that Writers wrote there\n"
      "  bale merge monday tuesday -o week   # packed datasets, shard by shard";
}

void declare_index(IndexCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_flag(app, "--force", command.force,
           "Rebuild existing files: the indexes, or with --seek-points or --sidecars only those");
  add_flag(app, "--check-images", command.check_images,
           "Decode every image, and name those that cannot be; the index says so");
  add_max_pixels(app, command.max_pixels);
  add_flag(app, "--seek-points", command.seek_points, k_seek_points_text);
  add_sidecars(app, command.sidecars);
  add_jobs(app, command.jobs, "Threads (default: one per core); does not change the result");
  add_json(app, command.json);
  add_quiet(app, command.quiet);
}

}  // namespace bale::tools
