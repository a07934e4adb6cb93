#include "bale/tools/grammar.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/format.hpp"
#include "bale/tools/commands.hpp"
#include "bale/tools/formats.hpp"
#include "bale/tools/grammar_measuring.hpp"
#include "bale/tools/grammar_options.hpp"
#include "bale/tools/values.hpp"

namespace bale::tools {
namespace {

using Action = std::function<int(Terminal&)>;

constexpr const char* k_entry_points_text =
    "Write beside each shard where the rows of its JPEGs start, so that loaders can decode a crop from its first row "
    "on (about 0.3% of the bytes)";

/// What is wrong with a command line in which no command was found.
std::string missing_command(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) return fmt::format("\"{}\" is not an option of bale itself", printable(word));
    return fmt::format("there is no command \"{}\"", printable(word));
  }
  return "a command is needed";
}

}  // namespace

/// The grammar with the values it fills.
class Grammar::State {
 public:
  State();

  Wish parse(int argc, const char* const* argv);
  const Action& action() const { return action_; }
  CommandModel model() const { return model_of(app_, "bale"); }
  CommandModel current_model() const;

 private:
  CLI::App* add_command(const std::string& name, const std::string& summary, Action action);
  void declare_pack(PackCommand& command, CLI::App& app);
  void declare_writing_commands();
  void declare_reading_commands();
  void declare_measuring_commands();
  void declare_program_commands();
  CommandModel model_of(const CLI::App& app, const std::string& name) const;

  CLI::App app_;
  Action action_;
  std::set<const CLI::Option*> needed_;  // by the command itself, in more ways than CLI11 can say
  PackCommand pack_;
  PackCommand convert_;
  IndexCommand index_;
  InspectCommand inspect_;
  LsCommand ls_;
  CatCommand cat_;
  ExtractCommand extract_;
  VerifyCommand verify_;
  StatsCommand stats_;
  PreviewCommand preview_;
  ReadCommand read_;
  BenchCommand bench_;
  TuneCommand tune_;
  DoctorCommand doctor_;
  CompletionCommand completion_;
};

Grammar::State::State() : app_("Packs folders of small images into shards and reads them back fast.") {
  app_.name("bale");
  app_.set_help_flag("-h,--help", "Print this help");
  app_.set_version_flag("-V,--version", "", "Print the version");
  app_.require_subcommand(1);
  declare_writing_commands();
  declare_reading_commands();
  declare_measuring_commands();
  declare_program_commands();
  app_.footer(
      "Run `bale COMMAND --help` for details. Exit codes: 0 success, 1 failure, 2 wrong usage,\n"
      "3 verify found damage, 4 finished but samples were skipped, 5 may succeed when\n"
      "tried again, 130 interrupted.");
}

CLI::App* Grammar::State::add_command(const std::string& name, const std::string& summary, Action action) {
  CLI::App* command = app_.add_subcommand(name, summary);
  command->callback([this, action = std::move(action)] { action_ = action; });
  return command;
}

void Grammar::State::declare_pack(PackCommand& command, CLI::App& app) {
  PackOptions& options = command.options;
  SourceOptions& source = command.source_options;
  auto* from = app.add_option("SRC", command.source,
                              command.source_is_packed
                                  ? k_spec_text
                                  : "Folder with one subfolder per class, a table (.csv, .tsv, .jsonl) with paths "
                                    "and labels, or a packed dataset; omitted with --files-from");
  auto* to =
      app.add_option("DST", options.destination, "Directory to write the dataset to; created if it does not exist");

  needed_.insert(to);
  if (command.source_is_packed) needed_.insert(from);

  app.option_defaults()->group("Format");
  add_text(app, "-f,--format", format_choices(), command.format,
           fmt::format("Format of the shards, or FORMAT.LAYOUT (default: {}); see `bale formats`", formats()[0]->name));
  add_text(app, "--layout", layout_choices(), command.layout, "Layout within the format (default: its first)");
  add_parsed(
      app, "--compress", "zstd[:LEVEL]",
      [&](const std::string& text) { options.compress_level = parse_compression("--compress", text); },
      "Compress every field that is not an image, if the layout has room for it");
  add_parsed(
      app, "--size", "N",
      [&](const std::string& text) { options.format_options["size"] = std::to_string(parse_positive("--size", text)); },
      "Side in pixels of decoded images, for layouts that store pixels");
  add_parsed(
      app, "--level", "N", [&](const std::string& text) { options.format_options["level"] = text; },
      "Compression level of layouts that compress the whole shard");
  add_parsed(
      app, "--label-base", "N", [&](const std::string& text) { options.format_options["label_base"] = text; },
      "Number of the first class in the files, for layouts whose readers may count from 1 (default: 0)");

  app.option_defaults()->group("Shards");
  add_text(app, "--name", "NAME", options.name, "Name of the dataset and prefix of its shards");
  auto* by_bytes = add_parsed(
      app, "--shard-size", "SIZE",
      [&](const std::string& text) { options.sizing.shard_bytes = parse_size("--shard-size", text); },
      "Start a new shard when one would grow beyond this (default: 256MiB); "
      "KiB, MiB, GiB are powers of 1024, KB, MB, GB of 1000");
  auto* by_count = add_parsed(
      app, "--shard-count", "N",
      [&](const std::string& text) { options.sizing.shard_count = parse_positive("--shard-count", text); },
      "Write this many shards of about equal size");
  auto* by_samples = add_parsed(
      app, "--shard-samples", "N",
      [&](const std::string& text) { options.sizing.shard_samples = parse_positive("--shard-samples", text); },
      "Write this many samples to a shard");
  by_bytes->excludes(by_count)->excludes(by_samples);
  by_count->excludes(by_samples);
  add_whole(app, "--shuffle", "SEED", options.shuffle_seed, "Shuffle the samples; the same seed gives the same order");
  auto* split = add_parsed(
      app, "--split", "NAME=F,...", [&](const std::string& text) { options.splits = parse_splits("--split", text); },
      "Write one dataset per part to DST/NAME, such as train=0.95,val=0.05");
  app.add_flag("--stratify", options.stratify, "Split every class by the same fractions")->needs(split);

  app.option_defaults()->group("Samples");
  add_parsed(
      app, "--source", command.source_is_packed ? format_choices() : source_choices(),
      [&](const std::string& text) { source.kind = parse_source_kind("--source", text, command.source_is_packed); },
      command.source_is_packed ? "Format of the shards in SRC (default: what they look like)"
                               : "What SRC is (default: what it looks like); a format stands for shards of it");
  add_repeated(app, "--include", "GLOB", source.include, "Take only what matches (path below SRC); may be repeated");
  add_repeated(app, "--exclude", "GLOB", source.exclude,
               "Leave out what matches, and directories that match with all in them; may be repeated");
  add_parsed(
      app, "--max-samples", "N",
      [&](const std::string& text) { options.max_samples = parse_positive("--max-samples", text); },
      "Stop after this many");
  if (!command.source_is_packed) {
    add_text(app, "--class-map", "FILE", source.class_map,
             "Label of each class: lines 'NAME INDEX' or 'NAME', or a JSON object or array");
    auto* pair = add_parsed(
        app, "--pair", "EXT,EXT,...", [&](const std::string& text) { source.pair = parse_list("--pair", text); },
        "Files of the same name with these extensions make one sample, the image first, such as jpg,mask.png");
    add_repeated(
        app, "--pair-path", "EXT=PATTERN", source.pair_paths,
        "Where the files with this extension of --pair lie, if not beside the image: a path from SRC on with "
        "{dir}, {stem} or {key} of the image, such as 'mask.png=../masks/{stem}_mask.png'; {stem%SUFFIX} is the "
        "stem without SUFFIX; may be repeated")
        ->needs(pair);
    auto* files = add_text(app, "--files-from", "FILE", command.files_from,
                           "Read paths to pack from a file, one per line; '-' is standard input");
    app.add_flag("-0,--null", source.nul_separated, "Paths of --files-from end with NUL, not newline")->needs(files);
    app.add_flag("--flat", source.flat, "SRC has no class folders: pack without labels");
    app.add_flag("--allow-empty", source.allow_empty_classes, "Class folders without images keep their label");
    add_text(app, "--root", "DIR", source.root, "Where relative paths of lists and tables start");
    add_text(app, "--path-column", "NAME", source.path_column, "Column of the table that holds the path");
    add_text(app, "--label-column", "NAME", source.label_column, "Column of the table that holds the label");
  }
  add_parsed(
      app, "--on-error", "fail|skip|quarantine",
      [&](const std::string& text) { options.on_error = parse_on_error("--on-error", text); },
      "What a sample that cannot be read does (default: fail)");

  add_sidecars(app, options.sidecars);
  app.add_flag("--entry-points", options.entry_points, k_entry_points_text);

  app.option_defaults()->group("Images");
  auto* by_short = add_parsed(
      app, "--resize-short", "N",
      [&](const std::string& text) { options.edits.resize_short = parse_count32("--resize-short", text); },
      "Make images smaller whose shorter side has more than N pixels, as torchvision's Resize(N) does on Pillow "
      "images; "
      "what fits stays byte for byte");
  add_parsed(
      app, "--resize-max", "N",
      [&](const std::string& text) { options.edits.resize_max = parse_count32("--resize-max", text); },
      "The same by the longer side")
      ->excludes(by_short);
  app.add_flag("--decode", command.decode,
               "Store images as pixels: the format's layout that holds them, unless --layout names one");
  app.add_flag("--orient", options.edits.orient, "Turn images as their EXIF orientation says, and drop the tag");
  app.add_flag("--strip-metadata", options.edits.strip_metadata,
               "Leave out EXIF, XMP, color profiles, comments and texts; pixels stay as they are");
  add_parsed(
      app, "--quality", "Q", [&](const std::string& text) { options.edits.quality = parse_quality("--quality", text); },
      "Quality of JPEGs that --resize-short, --resize-max or --orient encode again, 1 to 100 (default: 90)");
  app.add_flag(
      "--jpeg-lossless", options.edits.jpeg_lossless,
      "Write progressive JPEGs as baseline ones, and all with Huffman tables of their own: other bytes, the same "
      "pixels and metadata");

  app.add_flag("--check-images", options.check_images,
               "Decode every image, and name those that cannot be; they are packed, and the index says so");
  add_max_pixels(app, options.max_pixels);

  app.option_defaults()->group("Run");
  add_jobs(app, options.jobs, "Shards written at a time (default: two per core); the result never depends on it");
  auto* resume = app.add_flag_callback(
      "--resume", [&] { options.mode = DestinationMode::resume; }, "Continue an interrupted run of the same command");
  app.add_flag_callback(
         "--overwrite", [&] { options.mode = DestinationMode::overwrite; },
         "Replace the dataset in DST: it stays until the new one is complete, so there must be room for both; files "
         "that "
         "bale did not write stay")
      ->excludes(resume);
  app.add_flag("-n,--dry-run", command.dry_run, "Print the shards that would be written, and write nothing");
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.option_defaults()->group("Options");
}

void Grammar::State::declare_writing_commands() {
  pack_.command = "pack";
  auto* pack = add_command("pack", "Pack a folder, list or table of images into shards.",
                           [this](Terminal& terminal) { return run_pack(pack_, terminal); });
  declare_pack(pack_, *pack);
  pack->footer(
      "Examples:\n"
      "  bale pack imagenet/train packed\n"
      "  bale pack photos packed --flat --shard-samples 1000 --shuffle 1\n"
      "  find photos \\( -iname '*.jpg' -o -iname '*.jpeg' \\) -print0 | bale pack --files-from - -0 packed\n"
      "  bale pack VOC2012/JPEGImages packed --flat --pair jpg,mask.png \\\n"
      "    --pair-path 'mask.png=../SegmentationClass/{stem}.png'");

  convert_.command = "convert";
  convert_.source_is_packed = true;
  auto* convert = add_command("convert", "Write a packed dataset again, in another format, order or number of shards.",
                              [this](Terminal& terminal) { return run_pack(convert_, terminal); });
  declare_pack(convert_, *convert);
  convert->footer(fmt::format("Example:\n  bale convert packed elsewhere --format {}", formats()[1]->name));

  auto* index =
      add_command("index", "Write an index beside each shard that another program made, and what other readers want.",
                  [this](Terminal& terminal) { return run_index(index_, terminal); });
  add_spec(*index, index_.spec);
  index->add_flag("--force", index_.force, "Make again what is there already");
  index->add_flag("--check-images", index_.check_images,
                  "Decode every image, and name those that cannot be; the index says so");
  add_max_pixels(*index, index_.max_pixels);
  index->add_flag("--entry-points", index_.entry_points, k_entry_points_text);
  add_sidecars(*index, index_.sidecars);
  add_jobs(*index, index_.jobs, "Threads (default: one per core); the result never depends on it");
  add_quiet(*index, index_.quiet);
}

void Grammar::State::declare_reading_commands() {
  auto* inspect = add_command("inspect", "Show what a packed dataset is: counts, fields, classes, shards.",
                              [this](Terminal& terminal) { return run_inspect(inspect_, terminal); });
  add_spec(*inspect, inspect_.spec);
  add_json(*inspect, inspect_.json);

  auto* ls = add_command("ls", "List the keys of the samples, one per line.",
                         [this](Terminal& terminal) { return run_ls(ls_, terminal); });
  add_spec(*ls, ls_.spec);
  ls->add_flag("-l,--long", ls_.long_lines, "Index, label, width x height and bytes of each field before the key");
  add_json(*ls, ls_.json, "One JSON object per line; keys that are not UTF-8 are {\"hex\": ...}");
  ls->add_flag("-0,--null", ls_.null_ended, "Keys as they are, each ended by NUL; without it odd bytes show as \\xNN");

  auto* cat = add_command("cat", "Write one field of one sample to standard output.",
                          [this](Terminal& terminal) { return run_cat(cat_, terminal); });
  add_spec(*cat, cat_.spec);
  auto* key = cat->add_option("KEY", cat_.key, "Key of the sample, as `bale ls` prints it");
  add_whole(*cat, "--index", "N", cat_.index, "The N-th sample, from 0, instead of a key")->excludes(key);
  add_text(*cat, "--field", "NAME", cat_.field, "Field to write (default: the image)");

  auto* extract = add_command("extract", "Write the samples as files, DIR/KEY.FIELD.",
                              [this](Terminal& terminal) { return run_extract(extract_, terminal); });
  add_spec(*extract, extract_.spec);
  extract->add_option("DIR", extract_.directory, "Directory to write to; nothing is ever written outside it")
      ->required();
  add_repeated(*extract, "--field", "NAME", extract_.fields, "Write only this field; may be repeated (default: all)");
  add_repeated(*extract, "--include", "GLOB", extract_.include,
               "Write only samples whose key matches; may be repeated");
  extract->add_flag("--force", extract_.force, "Replace files that are there already with other content");
  add_quiet(*extract, extract_.quiet);
  extract->footer(
      "\n"
      "A file has its name only when it is complete. Files that are there already with the same bytes are kept,\n"
      "so run the command again after it was stopped.");

  auto* verify = add_command("verify", "Read everything, compare every checksum and count, and name what is damaged.",
                             [this](Terminal& terminal) { return run_verify(verify_, terminal); });
  add_spec(*verify, verify_.spec);
  verify->add_flag("--decode", verify_.decode, "Decode every image too, and name those that cannot be");
  add_max_pixels(*verify, verify_.max_pixels);
  add_jobs(*verify, verify_.jobs, "Shards read at a time (default: one per core)");
  add_json(*verify, verify_.json);
  add_quiet(*verify, verify_.quiet);
  add_json_progress(*verify, verify_.json_progress);
  verify->footer(

      "Findings are printed one per line: shard, what is wrong, key, field and offset.\n"
      "Exit code 3 when there are any.");

  auto* stats = add_command("stats", "Samples per class, image sizes and file sizes as small histograms.",
                            [this](Terminal& terminal) { return run_stats(stats_, terminal); });
  add_spec(*stats, stats_.spec);

  auto* preview = add_command("preview", "Draw random samples with their labels on a contact sheet.",
                              [this](Terminal& terminal) { return run_preview(preview_, terminal); });
  add_spec(*preview, preview_.spec);
  preview->add_option("OUT", preview_.out, "Picture to write: a name ending in .png, .jpg or .jpeg")->required();
  add_parsed(
      *preview, "--count", "N", [this](const std::string& text) { preview_.count = parse_positive("--count", text); },
      "Samples on the sheet (default: 30)");
  add_parsed(
      *preview, "--columns", "N",
      [this](const std::string& text) { preview_.columns = parse_positive("--columns", text); },
      "Samples per row (default: 6)");
  add_whole(*preview, "--seed", "SEED", preview_.seed, "Another seed, other samples (default: 0)");
  preview->add_flag("--force", preview_.force, "Replace OUT if it exists");

  auto* read = add_command("read", "Read every sample once and report how fast that was.",
                           [this](Terminal& terminal) { return run_read(read_, terminal); });
  add_spec(*read, read_.spec);
  auto* order = add_parsed(
      *read, "--order", "none|full|block",
      [this](const std::string& text) { read_.order = parse_order("--order", text); },
      "The dataset's own order (default), a full shuffle, or a block shuffle; block:SAMPLES,BLOCKS is one of other "
      "sizes");
  add_parsed(
      *read, "--shuffle", "SEED",
      [this, order](const std::string& text) {
        read_.seed = parse_whole("--shuffle", text);
        if (order->count() == 0) read_.order = Shuffle::full();
      },
      "Read in a random order: the same seed gives the same one (default: 0)");
  add_parsed(
      *read, "--epochs", "N", [this](const std::string& text) { read_.epochs = parse_positive("--epochs", text); },
      "Times to read the dataset (default: 1)");
  add_jobs(*read, read_.jobs, "Threads that read (default: one per core; 16 with --direct)");
  auto* direct = read->add_flag("--direct", read_.direct_io,
                                "Read around the page cache if the file system can: for a fast disk and data that "
                                "do not fit into memory");
  read->add_flag("--large-transfers", read_.large_transfers,
                 "Read long runs in transfers of 2 MiB and more, with what lies around them: for a block shuffle from "
                 "a disk that is limited in transfers per second")
      ->excludes(direct);
  read->add_flag_callback(
      "--no-verify", [this] { read_.verify_checksums = false; }, "Do not compare checksums");
  add_json(*read, read_.json);
  add_quiet(*read, read_.quiet);
}

void Grammar::State::declare_measuring_commands() {
  auto* bench = add_command("bench", "Measure how fast the dataset feeds a trainer, stage by stage.",
                            [this](Terminal& terminal) { return run_bench(bench_, terminal); });
  declare_bench(bench_, *bench);
  auto* tune = add_command("tune", "Try numbers of workers and of prefetched batches, and recommend some.",
                           [this](Terminal& terminal) { return run_tune(tune_, terminal); });
  declare_tune(tune_, *tune);
  auto* doctor = add_command("doctor", "Say what training waits for: reading, decoding, copying or the device.",
                             [this](Terminal& terminal) { return run_doctor(doctor_, terminal); });
  declare_doctor(doctor_, *doctor);
}

void Grammar::State::declare_program_commands() {
  add_command("formats", "List the formats and layouts of this build.",
              [](Terminal& terminal) { return run_formats(terminal); });

  auto* completion = add_command("completion", "Print a completion script for a shell.",
                                 [this](Terminal& terminal) { return run_completion(completion_, model(), terminal); });
  completion->add_option("SHELL", completion_.shell, "Shell that will read the script")
      ->required()
      ->type_name(fmt::format("{}", fmt::join(completion_shells(), "|")));
  completion->footer("Example:\n  source <(bale completion bash)");

  add_command("man", "Print the manual page, in roff.",
              [this](Terminal& terminal) { return run_man(model(), terminal); });
}

CommandModel Grammar::State::model_of(const CLI::App& app, const std::string& name) const {
  CommandModel model{.name = name, .summary = app.get_description(), .footer = app.get_footer()};
  OptionGroup last{.title = "Options"};
  for (const CLI::Option* option : app.get_options()) {
    OptionModel row{.text = option->get_description(), .required = option->get_required() || needed_.count(option) > 0};
    if (option->get_expected_max() > 0) row.value_name = option->get_type_name();
    if (option->get_positional()) {
      if (row.value_name.find('|') == std::string::npos) row.value_name = option->get_name(true);
      model.positionals.push_back(std::move(row));
      continue;
    }
    if (!option->get_snames().empty()) row.short_name = "-" + option->get_snames().front();
    if (!option->get_lnames().empty()) row.long_name = "--" + option->get_lnames().front();
    const std::string& title = option->get_group();
    if (title == last.title) {
      last.options.push_back(std::move(row));
      continue;
    }
    if (model.groups.empty() || model.groups.back().title != title) model.groups.push_back({.title = title});
    model.groups.back().options.push_back(std::move(row));
  }
  std::stable_partition(last.options.begin(), last.options.end(),
                        [](const OptionModel& option) { return option.long_name != "--help"; });
  model.groups.push_back(std::move(last));
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    model.commands.push_back(model_of(*child, name + ' ' + child->get_name()));
  }
  return model;
}

CommandModel Grammar::State::current_model() const {
  const auto named = app_.get_subcommands();
  if (named.empty()) return model();
  return model_of(*named.front(), "bale " + named.front()->get_name());
}

Grammar::Wish Grammar::State::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
    return Wish::run;
  } catch (const CLI::CallForHelp&) {
    return Wish::help;
  } catch (const CLI::CallForVersion&) {
    return Wish::version;
  } catch (const CLI::ParseError& error) {
    const bool no_command = app_.get_subcommands().empty();
    throw Error(ErrorCode::invalid_argument, no_command ? missing_command(argc, argv) : printable(error.what()));
  }
}

Grammar::Grammar() : state_(std::make_unique<State>()) {}
Grammar::~Grammar() = default;
Grammar::Wish Grammar::parse(int argc, const char* const* argv) { return state_->parse(argc, argv); }
int Grammar::run(Terminal& terminal) const { return state_->action()(terminal); }
CommandModel Grammar::current_model() const { return state_->current_model(); }

}  // namespace bale::tools
