#include "bale/tools/cli/grammar.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/tools/cli/grammar_cache.hpp"
#include "bale/tools/cli/grammar_measuring.hpp"
#include "bale/tools/cli/grammar_options.hpp"
#include "bale/tools/cli/grammar_packing.hpp"
#include "bale/tools/cli/grammar_reading.hpp"
#include "bale/tools/cli/grammar_survey.hpp"
#include "bale/tools/cli/values.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/formats.hpp"

namespace bale::tools {
namespace {

using Action = std::function<int(Terminal&)>;

/// The error of a command line in which no command was found.
std::string missing_command(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) return fmt::format("\"{}\" is not an option of bale itself", printable(word));
    return fmt::format("there is no command \"{}\"", printable(word));
  }
  return "a command is needed";
}

}  // namespace

/// The grammar and the values that it fills.
class Grammar::State {
 public:
  State();

  Wish parse(int argc, const char* const* argv);
  const Action& action() const { return action_; }
  CommandModel model() const { return model_of(app_, "bale"); }
  CommandModel current_model() const;

 private:
  CLI::App* add_command(const std::string& name, const std::string& summary, Action action);
  /// A command with arguments of its own, which `declare` declares.
  template <typename Command>
  CLI::App* add_command(const std::string& name, const std::string& summary, Command& command,
                        int (*run)(const Command&, Terminal&), void (*declare)(Command&, CLI::App&)) {
    CLI::App* app = add_command(name, summary, [&command, run](Terminal& terminal) { return run(command, terminal); });
    declare(command, *app);
    add_cache_options(*app);
    return app;
  }
  void declare_writing_commands();
  void declare_reading_commands();
  void declare_measuring_commands();
  void declare_program_commands();
  CommandModel model_of(const CLI::App& app, const std::string& name) const;

  CLI::App app_;
  Action action_;
  std::set<const CLI::Option*> needed_;  // required by the command itself, in ways that CLI11 cannot express
  PackCommand pack_;
  PackCommand convert_;
  PackCommand plan_;
  MergeCommand merge_;
  IndexCommand index_;
  InspectCommand inspect_;
  LsCommand ls_;
  CatCommand cat_;
  ExtractCommand extract_;
  VerifyCommand verify_;
  DiffCommand diff_;
  StatsCommand stats_;
  ReportCommand report_;
  DedupCommand dedup_;
  PreviewCommand preview_;
  ReadCommand read_;
  BenchCommand bench_;
  TuneCommand tune_;
  DoctorCommand doctor_;
  CacheCommand cache_;
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
      "3 verify found damage or diff differences, 4 finished but samples were skipped,\n"
      "5 may succeed when tried again, 130 interrupted.");
}

CLI::App* Grammar::State::add_command(const std::string& name, const std::string& summary, Action action) {
  CLI::App* command = app_.add_subcommand(name, summary);
  command->callback([this, action = std::move(action)] { action_ = action; });
  return command;
}

void Grammar::State::declare_writing_commands() {
  pack_.command = "pack";
  auto* pack = add_command("pack", "Pack a folder, list or table of images into shards.",
                           [this](Terminal& terminal) { return run_pack(pack_, terminal); });
  declare_pack(pack_, *pack, needed_);
  pack->footer(
      "Examples:\n"
      "  bale pack imagenet/train packed\n"
      "  bale pack photos packed --flat --shard-samples 1000 --shuffle 1\n"
      "  find photos \\( -iname '*.jpg' -o -iname '*.jpeg' \\) -print0 | bale pack --files-from - -0 packed\n"
      "  bale pack VOC2012/JPEGImages packed --flat --pair jpg,mask.png \\\n"
      "    --pair-path 'mask.png=../SegmentationClass/{stem}.png'\n"
      "  bale pack --plan imagenet.plan --part 3/16");

  convert_.command = "convert";
  convert_.source_is_packed = true;
  auto* convert = add_command("convert", "Write a packed dataset again, in another format, order or number of shards.",
                              [this](Terminal& terminal) { return run_pack(convert_, terminal); });
  declare_pack(convert_, *convert, needed_);
  add_cache_options(*convert);
  convert->footer(fmt::format("Example:\n  bale convert packed elsewhere --format {}", formats()[1]->name));

  plan_.command = "plan";
  auto* plan = add_command("plan", "Write what `pack` would do to a file, to pack it in parts on many machines.",
                           [this](Terminal& terminal) { return run_plan(plan_, terminal); });
  declare_pack(plan_, *plan, needed_);
  add_cache_options(*plan);
  plan->footer(
      "Examples:\n"
      "  bale plan imagenet/train /shared/packed -o imagenet.plan\n"
      "  sbatch --array=0-15 --wrap 'bale pack --plan imagenet.plan --part $SLURM_ARRAY_TASK_ID/16'\n"
      "  bale merge imagenet.plan");

  auto* merge = add_command("merge", "Make one dataset of what was packed in parts, or of several packed datasets.",
                            [this](Terminal& terminal) { return run_merge(merge_, terminal); });
  declare_merge(merge_, *merge);
  merge->footer(
      "Examples:\n"
      "  bale merge imagenet.plan            # parts of a plan, or which of them are missing\n"
      "  bale merge /shared/packed           # parts that Writers wrote there\n"
      "  bale merge monday tuesday -o week   # packed datasets, shard by shard");

  add_command("index", "Write an index beside each shard that another program made, and what other readers want.",
              index_, run_index, declare_index);
}

void Grammar::State::declare_reading_commands() {
  add_command("inspect", "Show what a packed dataset is: counts, fields, classes, shards.", inspect_, run_inspect,
              declare_inspect);
  add_command("ls", "List the keys of the samples, one per line.", ls_, run_ls, declare_ls);
  add_command("cat", "Write one field of one sample to standard output.", cat_, run_cat, declare_cat);
  add_command("extract", "Write the samples as files, DIR/KEY.FIELD.", extract_, run_extract, declare_extract);
  add_command("verify", "Read everything, compare every checksum and count, and name what is damaged.", verify_,
              run_verify, declare_verify);
  auto* diff = add_command("diff", "Name the samples in which two datasets, or a dataset and its folder, differ.",
                           [this](Terminal& terminal) { return run_diff(diff_, terminal); });
  declare_diff(diff_, *diff);
  add_cache_options(*diff);
  add_command("stats", "Samples per class, image sizes and file sizes as small histograms.", stats_, run_stats,
              declare_stats);
  auto* report = add_command("report", "Show what is in a dataset, and what is wrong with it, on a page.",
                             [this](Terminal& terminal) { return run_report(report_, terminal); });
  declare_report(report_, *report);
  add_cache_options(*report);
  auto* dedup = add_command("dedup", "List duplicates for --exclude-from, all of a group but one.",
                            [this](Terminal& terminal) { return run_dedup(dedup_, terminal); });
  declare_dedup(dedup_, *dedup);
  add_cache_options(*dedup);
  add_command("preview", "Draw random samples with their labels on a contact sheet.", preview_, run_preview,
              declare_preview);
  add_command("read", "Read every sample once and report how fast that was.", read_, run_read, declare_read);
}

void Grammar::State::declare_measuring_commands() {
  add_command("bench", "Measure how fast the dataset feeds a trainer, stage by stage.", bench_, run_bench,
              declare_bench);
  add_command("tune", "Try numbers of workers and of prefetched batches, and recommend some.", tune_, run_tune,
              declare_tune);
  add_command("doctor", "Say what training waits for: reading, decoding, copying or the device.", doctor_, run_doctor,
              declare_doctor);
}

void Grammar::State::declare_program_commands() {
  add_command("cache", "Show and tend the cache of remote files on the local disk.", cache_, run_cache, declare_cache);
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
